#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A model on loopback that asks for one command and then ends its turn.

    scripted_model.py [--tool NAME] [--port N] --input '{"command": "id"}' --log FILE

It speaks just enough of three protocols for a real agent to run that command: Anthropic messages, OpenAI responses and
Gemini generateContent. The first line on standard output is the address. Each request is appended to the log as one line
of JSON, so that a test can read what the agent told the model about the command.
"""
import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def anthropic_events(call, done):
    usage = {"input_tokens": 1, "output_tokens": 1}
    yield {"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": usage}}
    if done:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}
    else:
        block = {"type": "tool_use", "id": "toolu_1", "name": call["name"], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call["input"])}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "usage": usage,
           "delta": {"stop_reason": "end_turn" if done else "tool_use", "stop_sequence": None}}
    yield {"type": "message_stop"}


def openai_events(call, done):
    yield {"type": "response.created", "response": {"id": "resp_1"}}
    if done:
        item = {"type": "message", "role": "assistant", "id": "msg_1",
                "content": [{"type": "output_text", "text": "done"}]}
    else:
        item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": call["name"],
                "arguments": json.dumps(call["input"])}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": {
        "id": "resp_1", "usage": {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1,
                                  "output_tokens_details": None, "total_tokens": 2}}}


def gemini_events(call, done):
    part = {"text": "done"} if done else {"functionCall": {"name": call["name"], "args": call["input"]}}
    yield {"candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [part]}}],
           "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}


def chat_events(call, done):
    message = {"role": "assistant", "content": "done" if done else None}
    if not done:
        message["tool_calls"] = [{"index": 0, "id": "call_1", "type": "function", "function": {
            "name": call["name"], "arguments": json.dumps(call["input"])}}]
    common = {"id": "chat_1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    yield {**common, "choices": [{"index": 0, "delta": message, "finish_reason": None}]}
    yield {**common, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop" if done else "tool_calls"}]}


def protocol_of(path):
    """The events of a protocol, and what a result of a command looks like in a request of it."""
    if "/messages" in path:
        return anthropic_events, '"tool_result"'
    if "/responses" in path:
        return openai_events, '"function_call_output"'
    if "/chat/completions" in path:
        return chat_events, '"tool_call_id"'
    if "enerateContent" in path:
        return gemini_events, '"functionResponse"'
    return None, None


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def record(self, body):
        try:
            body = json.loads(body)
        except ValueError:
            body = body.decode("utf-8", "replace")
        with open(self.server.log, "a", encoding="utf-8") as log:
            log.write(json.dumps({"path": self.path, "body": body}) + "\n")

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.record(b"null")
        self.answer("application/json", b'{"data": [], "models": []}')

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.record(body)
        events, result_mark = protocol_of(self.path)
        if not events or "count_tokens" in self.path or "countTokens" in self.path:
            self.answer("application/json", b'{"input_tokens": 1, "totalTokens": 1}')
            return
        text = body.decode("utf-8", "replace")
        done = result_mark in text or '"tools"' not in text
        made = list(events(self.server.call, done))
        if "generateContent" in self.path:
            self.answer("application/json", json.dumps(made[0]).encode())
            return
        lines = []
        for event in made:
            name = "event: %s\n" % event["type"] if "type" in event else ""
            lines.append("%sdata: %s\n\n" % (name, json.dumps(event)))
        if events is chat_events:
            lines.append("data: [DONE]\n\n")
        self.answer("text/event-stream", "".join(lines).encode())


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--tool", default="Bash")
    options.add_argument("--input", required=True)
    options.add_argument("--log", required=True)
    options.add_argument("--port", type=int, default=0)
    given = options.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", given.port), Model)
    server.call = {"name": given.tool, "input": json.loads(given.input)}
    server.log = given.log
    print("http://127.0.0.1:%d" % server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
