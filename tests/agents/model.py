# SPDX-License-Identifier: LGPL-2.1-or-later
"""A model on loopback that follows a script: it asks for the tool calls of one turn after the other and then says "done".

    with Model([[call("Bash", command="id")], [call("Bash", command="true"), call("Bash", command="false")]]) as model:
        ... an agent whose provider is model.url ...
    model.results()      [["uid=0(root) …"], ["", "…"]]: what the agent told the model about each call

It speaks just enough of four protocols for real agents: Anthropic Messages, OpenAI Responses and Chat Completions, Gemini.
Which turn it is follows from the results in the request, so that requests about other things (titles, summaries) and
repeated ones do no harm. A call's name may be a function of the tools that the request offers.
"""
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def call(tool, **arguments):
    return {"name": tool, "input": arguments}


# ---- the protocols: a turn as events; the results in a request; the names of the tools in it

def anthropic_events(calls, number):
    usage = {"input_tokens": 1, "output_tokens": 1}
    yield {"type": "message_start", "message": {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": "scripted", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": usage}}
    blocks = [({"type": "tool_use", "id": one["id"], "name": one["name"], "input": {}},
               {"type": "input_json_delta", "partial_json": json.dumps(one["input"])}) for one in calls]
    for i, (block, delta) in enumerate(blocks or [({"type": "text", "text": ""}, {"type": "text_delta", "text": "done"})]):
        yield {"type": "content_block_start", "index": i, "content_block": block}
        yield {"type": "content_block_delta", "index": i, "delta": delta}
        yield {"type": "content_block_stop", "index": i}
    yield {"type": "message_delta", "usage": usage,
           "delta": {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}}
    yield {"type": "message_stop"}


def anthropic_results(body):
    for message in body.get("messages", ()):
        for part in message["content"] if isinstance(message["content"], list) else ():
            if part.get("type") == "tool_result":
                yield part["tool_use_id"], as_text(part.get("content"))


def openai_events(calls, number):
    yield {"type": "response.created", "response": {"id": f"resp_{number}"}}
    items = [{"type": "custom_tool_call", "id": "ct_" + one["id"], "call_id": one["id"], "name": one["name"],
              "input": one["input"]} if isinstance(one["input"], str) else
             {"type": "function_call", "id": "fc_" + one["id"], "call_id": one["id"], "name": one["name"],
              **({"namespace": one["namespace"]} if "namespace" in one else {}), "arguments": json.dumps(one["input"])}
             for one in calls]
    for i, item in enumerate(items or [{"type": "message", "role": "assistant", "id": f"msg_{number}",
                                        "content": [{"type": "output_text", "text": "done"}]}]):
        yield {"type": "response.output_item.added", "output_index": i, "item": item}
        yield {"type": "response.output_item.done", "output_index": i, "item": item}
    yield {"type": "response.completed", "response": {
        "id": f"resp_{number}", "usage": {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1,
                                          "output_tokens_details": None, "total_tokens": 2}}}


def openai_results(body):
    items = body.get("input", ())
    for item in items if isinstance(items, list) else ():
        if item.get("type") in ("function_call_output", "custom_tool_call_output"):
            yield item["call_id"], as_text(item.get("output"))


def chat_events(calls, number):
    message = {"role": "assistant", "content": None if calls else "done"}
    if calls:
        message["tool_calls"] = [{"index": i, "id": one["id"], "type": "function", "function": {
            "name": one["name"], "arguments": json.dumps(one["input"])}} for i, one in enumerate(calls)]
    common = {"id": f"chat_{number}", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    yield {**common, "choices": [{"index": 0, "delta": message, "finish_reason": None}]}
    yield {**common, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}],
           "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}


def chat_results(body):
    for message in body.get("messages", ()):
        if message.get("role") == "tool":
            yield message["tool_call_id"], as_text(message.get("content"))


def gemini_events(calls, _number):
    parts = [{"functionCall": {"id": one["id"], "name": one["name"], "args": one["input"]}} for one in calls]
    yield {"candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model",
                                                                         "parts": parts or [{"text": "done"}]}}],
           "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}


def gemini_results(body):
    for content in body.get("contents", ()):
        for part in content.get("parts", ()):
            if "functionResponse" in part:
                answer = part["functionResponse"]
                response = answer.get("response", {})
                yield answer.get("id", ""), as_text(response.get("output", response.get("error", response)))


PROTOCOLS = (("/messages", anthropic_events, anthropic_results), ("/responses", openai_events, openai_results),
             ("/chat/completions", chat_events, chat_results), ("enerateContent", gemini_events, gemini_results))


def as_text(value):
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(as_text(part.get("text", "")) if isinstance(part, dict) else as_text(part) for part in value)
    return "" if value is None else json.dumps(value)


def tools_of(body):
    """The names of the tools that a request offers, with their descriptions as text."""
    found = {}

    def look(tools, namespace=None):
        for tool in tools or ():
            if isinstance(tool, dict):
                name = tool.get("name") or tool.get("function", {}).get("name")
                if tool.get("type") == "namespace":
                    look(tool.get("tools"), tool.get("name"))
                elif name:
                    found[f"{namespace}.{name}" if namespace else name] = json.dumps(tool)
                look(tool.get("functionDeclarations"))
    look(body.get("tools"))
    return found


# ---- the server

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.server.model.other.append(self.path)
        self.answer("application/json", json.dumps({"data": [{"id": "scripted", "object": "model"}],
                                                    "models": []}).encode())

    def do_POST(self):
        length = self.headers.get("Content-Length")
        raw = self.rfile.read(int(length)) if length else self.read_chunks()
        protocol = next((p for p in PROTOCOLS if p[0] in self.path), None)
        if not protocol or "count_tokens" in self.path or "countTokens" in self.path:
            self.server.model.other.append(self.path)
            self.answer("application/json", b'{"input_tokens": 1, "totalTokens": 1}')
            return
        _, events, results = protocol
        body = json.loads(raw)
        made = list(events(self.server.model.turn(body, results), self.server.model.number()))
        streams = body.get("stream") or "streamGenerateContent" in self.path
        if not streams and events is gemini_events:
            self.answer("application/json", json.dumps(made[0]).encode())
            return
        if not streams and events is chat_events:
            message = made[0]["choices"][0]["delta"]
            self.answer("application/json", json.dumps({**made[0], "object": "chat.completion", "choices": [
                {"index": 0, "message": message, "finish_reason": made[1]["choices"][0]["finish_reason"]}]}).encode())
            return
        if not streams and events is anthropic_events:
            self.answer("application/json", json.dumps({**made[0]["message"], "content": [{"type": "text", "text": "done"}],
                                                        "stop_reason": "end_turn"}).encode())
            return
        lines = [("event: %s\n" % e["type"] if "type" in e else "") + f"data: {json.dumps(e)}\n\n" for e in made]
        if events is chat_events:
            lines.append("data: [DONE]\n\n")
        self.answer("text/event-stream", "".join(lines).encode())

    def read_chunks(self):
        data = b""
        while "chunked" in self.headers.get("Transfer-Encoding", ""):
            size = int(self.rfile.readline().split(b";")[0], 16)
            data += self.rfile.read(size)
            self.rfile.readline()
            if size == 0:
                break
        return data


class Model:
    def __init__(self, script, host="127.0.0.1"):
        self.host = host
        self.script = [[{**one, "id": f"call_{i}_{j}"} for j, one in enumerate(turn)] for i, turn in enumerate(script)]
        self.bodies, self.other, self.told = [], [], {}
        self.counter, self.lock = 0, threading.Lock()

    def __enter__(self):
        self.server = ThreadingHTTPServer((self.host, 0), Handler)
        self.port = self.server.server_address[1]
        self.server.daemon_threads, self.server.model = True, self
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://{self.host}:{self.port}"
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def number(self):
        with self.lock:
            self.counter += 1
            return self.counter

    def turn(self, body, results):
        """The calls of the next turn; none for a request without tools, and after the last one."""
        found = list(results(body))
        names = tools_of(body)
        with self.lock:
            self.bodies.append(body)
            for i, (key, text) in enumerate(found):
                self.told[key or i] = text
        if not names:
            return []
        n = len(found)
        for turn in self.script:
            if n < len(turn):
                for one in turn:
                    one.setdefault("asked", time.time())
                return [self.fill_in(one, names) for one in turn]
            n -= len(turn)
        return []

    @staticmethod
    def fill_in(one, names):
        name = one["name"](names) if callable(one["name"]) else one["name"]
        if "." in name:  # Codex puts the tools of a server into a namespace
            return {**one, "namespace": name.rsplit(".", 1)[0], "name": name.rsplit(".", 1)[1]}
        return {**one, "name": name}

    def results(self):
        """What the agent told of each call, turn by turn; None: nothing came back."""
        plain = iter(text for key, text in self.told.items() if isinstance(key, int))
        return [[self.told.get(one["id"], next(plain, None)) for one in turn] for turn in self.script]

    def tools(self):
        names = {}
        for body in self.bodies:
            names.update(tools_of(body))
        return names
