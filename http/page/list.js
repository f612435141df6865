/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The list at the side: sessions first, then the runs, newest first. */
import { el, line, plain, age, count, base } from "./text.js";
import { Rows } from "./rows.js";

export function runAddress(run) {
	return "#/run/" + encodeURIComponent(run);
}

export function sessionAddress(project, name) {
	return "#/session/" + encodeURIComponent(name) + "?project=" + encodeURIComponent(project);
}

/* A run that an apply or discard of a session left behind has no command of its own. */
export function runState(run) {
	if (run.status === "running") return { dot: "live", word: "running" };
	if (run.status === "exited" && run.exit_code === 0) return { dot: "ok", word: "done" };
	if (run.status === "exited") return { dot: "bad", word: "exit " + run.exit_code };
	if (run.status === "timeout") return { dot: "bad", word: "timed out" };
	if (run.status === "signaled") return { dot: "bad", word: "signal" };
	return { dot: "bad", word: "failed" };
}

function changesWord(changes) {
	if (!changes || (!changes.count && changes.state !== "direct")) return null;
	const waits = changes.state === "held" || changes.state === "partial";
	const words = { held: "held", partial: "partly held", applied: "applied", discarded: "discarded", direct: "direct", none: "" };
	const text = changes.state === "direct" ? "direct" : changes.count.toLocaleString("en") + " " + (words[changes.state] ?? changes.state);
	return el("span", { class: "chip " + (waits ? "wait" : changes.state) }, text);
}

function sessionRow(s) {
	return el("div", { role: "option", "aria-label": plain("session " + s.session + ", " + count(s.steps, "step") + (s.held ? ", " + s.held + " changes held" : "") + ", " + s.state) },
		el("span", { class: "dot " + (s.running ? "live" : s.state === "open" ? "open" : "off"), "aria-hidden": "true" }),
		el("span", { class: "what" }, el("span", { class: "kind" }, "session"), line(s.session)),
		el("span", { class: "when" }, age(s.last_used)),
		el("span", { class: "sub" }, line(base(s.project)), el("span", { class: "soft" }, count(s.steps, "step") + (s.state === "ended" ? ", ended" : ""))),
		el("span", { class: "tail" }, s.held ? el("span", { class: "chip wait" }, s.held.toLocaleString("en") + " held") : null));
}

function runRow(r) {
	const state = runState(r);
	return el("div", { role: "option", "aria-label": plain("run, " + state.word + ", " + r.command) },
		el("span", { class: "dot " + state.dot, "aria-hidden": "true" }),
		el("span", { class: "what code" }, line(r.command || "(no command)")),
		el("span", { class: "when" }, age(r.started)),
		el("span", { class: "sub" }, line(base(r.project) || "?"), el("span", { class: "soft" }, state.word), r.session ? el("span", { class: "soft" }, line(r.session)) : null),
		el("span", { class: "tail" }, changesWord(r.changes)));
}

function headRow(text) {
	return el("div", { role: "presentation", class: "head" }, text);
}

export class List {
	constructor(host, filter) {
		this.filter = filter;
		this.items = [];
		this.overview = null;
		this.rows = new Rows({ label: "Sessions and runs", role: "listbox", class: "nav", row: (i) => this.row(i), small: (i) => Boolean(this.items[i]?.head), open: (i) => this.open(i) });
		host.append(this.rows.node);
		filter.addEventListener("input", () => this.show());
		filter.addEventListener("keydown", (e) => {
			if (e.key === "ArrowDown" || e.key === "Enter") {
				e.preventDefault();
				this.focus();
			}
		});
	}

	focus() {
		this.rows.node.focus();
		if (this.items[this.rows.current]?.head) this.rows.move(this.rows.current + 1);
	}

	open(i) {
		const item = this.items[i];
		if (item && !item.head) location.hash = item.address;
	}

	row(i) {
		const item = this.items[i];
		if (item.head) return headRow(item.head);
		const node = item.session ? sessionRow(item.session) : runRow(item.run);
		node.setAttribute("aria-selected", item.address === this.chosen ? "true" : "false");
		node.classList.toggle("chosen", item.address === this.chosen);
		return node;
	}

	take(overview) {
		this.overview = overview;
		this.show();
	}

	choose(address) {
		this.chosen = address;
		const at = this.items.findIndex((item) => item.address === address);
		if (at >= 0) this.rows.current = at;
		this.rows.redraw();
	}

	show() {
		if (!this.overview) return;
		const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
		const fits = (...texts) => words.every((w) => texts.some((t) => String(t || "").toLowerCase().includes(w)));
		const running = new Set(this.overview.runs.filter((r) => r.status === "running" && r.session).map((r) => r.project + "\n" + r.session));
		const sessions = this.overview.sessions.filter((s) => fits(s.session, s.project, s.state, "session"))
			.sort((a, b) => (b.held > 0) - (a.held > 0) || (a.last_used < b.last_used ? 1 : -1));
		const runs = this.overview.runs.filter((r) => fits(r.command, r.project, r.session, r.run, r.status, r.changes?.state, "run"));
		this.items = [];
		if (sessions.length) this.items.push({ head: "Sessions" });
		for (const s of sessions)
			this.items.push({ session: { ...s, running: running.has(s.project + "\n" + s.session) }, address: sessionAddress(s.project, s.session) });
		if (runs.length) this.items.push({ head: "Runs" });
		for (const r of runs) this.items.push({ run: r, address: runAddress(r.run) });
		if (!this.items.length) this.items.push({ head: words.length ? "Nothing fits" : "No runs yet" });
		const at = this.items.findIndex((item) => item.address === this.chosen);
		if (at >= 0) this.rows.current = at;
		this.rows.reset(this.items.length);
	}
}
