/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shows the output of a run as it arrives. Long output starts with its end; the rest is loaded on request. */
import { el, fill, Terminal, size } from "./text.js";
import { bytes } from "./api.js";

const PIECE = 256 << 10;

class Stream {
	constructor(run, name, word) {
		this.run = run;
		this.name = name;
		this.terminal = new Terminal();
		this.decoder = new TextDecoder();
		this.text = el("pre", { class: "term", tabindex: "0", "aria-label": word });
		this.earlier = el("button", { type: "button", class: "more", hidden: true, on: { click: () => this.before() } }, "Show what came before");
		this.node = el("section", { class: "stream", hidden: true }, el("h3", null, word, (this.size = el("span", { class: "soft" }))), this.earlier, this.text);
		this.first = this.end = 0;
	}

	async begin() {
		const { data, total } = await bytes("/ui/output/" + encodeURIComponent(this.run), { stream: this.name, last: PIECE });
		this.first = total - data.length;
		this.end = this.first;
		this.earlier.hidden = this.first === 0;
		this.put(data);
	}

	/* Bytes of this place in the stream; what we have already is left out. */
	take(from, data) {
		if (from + data.length <= this.end) return;
		if (from > this.end) return; /* a gap: whoever reconnects asks from where it is */
		this.put(data.subarray(this.end - from));
	}

	put(data) {
		if (data.length === 0) return;
		const pane = this.text, isAtEnd = pane.scrollHeight - pane.scrollTop - pane.clientHeight < 40;
		this.end += data.length;
		this.node.hidden = false;
		pane.append(el("span", { class: "chunk" }, this.terminal.add(this.decoder.decode(data, { stream: true }))));
		this.size.textContent = " " + size(this.end);
		if (isAtEnd) pane.scrollTop = pane.scrollHeight;
	}

	async before() {
		const from = Math.max(0, this.first - PIECE);
		const { data } = await bytes("/ui/output/" + encodeURIComponent(this.run), { stream: this.name, from, length: this.first - from });
		const height = this.text.scrollHeight;
		this.text.prepend(el("span", { class: "chunk" }, new Terminal().add(new TextDecoder().decode(data))));
		this.text.scrollTop += this.text.scrollHeight - height;
		this.first = from;
		this.earlier.hidden = from === 0;
	}
}

export class OutputView {
	constructor(run) {
		this.run = run;
		this.out = new Stream(run, "stdout", "Output");
		this.err = new Stream(run, "stderr", "Error output");
		this.state = el("p", { class: "empty" }, "Loading");
		this.node = el("div", { class: "output" }, this.state, this.out.node, this.err.node);
	}

	async begin(isRunning) {
		await Promise.all([this.out.begin(), this.err.begin()]);
		this.isReady = true;
		this.tell(isRunning);
	}

	tell(isRunning) {
		const isEmpty = this.out.end + this.err.end === 0;
		fill(this.state, isRunning ? [el("span", { class: "dot live", "aria-hidden": "true" }), isEmpty ? " It is running and has written nothing yet." : " It is running; output comes as it is written."] : isEmpty ? "It wrote nothing." : "");
		this.state.hidden = !isRunning && !isEmpty;
	}

	take(event) {
		if (event.run !== this.run || !this.isReady) return;
		const data = Uint8Array.from(atob(event.base64), (c) => c.charCodeAt(0));
		(event.stream === "stderr" ? this.err : this.out).take(event.from, data);
		this.tell(true);
	}

	/* For the query of the event stream. */
	place() {
		return { run: this.run, stdout: this.out.end, stderr: this.err.end };
	}
}
