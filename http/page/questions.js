/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Questions that wait for a person. A question that has just come does not take a key at once: somebody may be typing. It goes when it is
 * answered, here or elsewhere. */
import { el, line, block, plain, count } from "./text.js";
import { post } from "./api.js";
import { complain, say } from "./dialog.js";

const SETTLE_MS = 700;
const KEYS = { allow_once: "a", deny: "d", allow_session: "s", allow_always: "w", deny_session: "e", deny_always: "v" };
const WORDS = { allow_once: "Allow once", deny: "Deny", allow_session: "Allow for this session", allow_always: "Allow always", deny_session: "Deny for this session", deny_always: "Deny always" };
const REASONS = { unsandboxed: "No sandbox", "allow-write": "Writes elsewhere", link: "A link that leads out", network: "Network", "sensitive-changes": "Sensitive changes", "held-changes": "Held changes", host: "Connection", publish: "Open port" };

/* The last line is the question itself; what stands above it explains. */
function split(text) {
	const cut = text.replace(/\n+$/, ""), at = cut.lastIndexOf("\n");
	return { question: cut.slice(at + 1), above: at < 0 ? "" : cut.slice(0, at).trim() };
}

export class Questions {
	constructor(host, badge) {
		this.host = host;
		this.badge = badge;
		this.cards = new Map();
		badge.addEventListener("click", () => this.focus());
		setInterval(() => this.tick(), 1000);
		host.addEventListener("keydown", (e) => this.press(e));
	}

	focus() {
		this.host.querySelector(".question")?.focus();
	}

	take(list) {
		const there = new Set(list.map((q) => q.id));
		for (const [id, card] of this.cards)
			if (!there.has(id)) {
				const had = card.node.contains(document.activeElement);
				card.node.remove();
				this.cards.delete(id);
				if (!card.isMine) say("That question is decided, or what asked it has ended.");
				if (had) this.focus();
			}
		for (const q of list)
			if (!this.cards.has(q.id)) {
				const card = this.make(q);
				this.cards.set(q.id, card);
				this.host.append(card.node);
			} else {
				this.cards.get(q.id).update(q);
			}
		const n = this.cards.size;
		this.host.hidden = n === 0;
		this.badge.hidden = n === 0;
		this.badge.textContent = count(n, "question");
		document.title = n ? "(" + n + ") airlock" : "airlock";
		this.tick();
	}

	make(q) {
		const { question, above } = split(q.question || ""), born = performance.now();
		const left = el("span", { class: "left" }), waiting = el("span");
		const row = (label, value) => (value ? [el("dt", null, label), el("dd", null, value)] : null);
		const buttons = q.choices.map((choice) => el("button", { type: "button", class: choice.startsWith("allow") ? "yes" : "no", on: { click: () => card.answer(choice) }, "aria-keyshortcuts": KEYS[choice] }, WORDS[choice] || choice, el("kbd", { "aria-hidden": "true" }, KEYS[choice])));
		const node = el("article", { class: "question", tabindex: "-1", role: "alert", "aria-label": plain("Question: " + question) },
			el("p", { class: "reasons" }, q.reasons.map((r) => el("span", { class: "chip wait" }, REASONS[r] || r)), el("span", { class: "grow" }), left),
			el("h2", null, line(question)),
			above ? el("div", { class: "above", tabindex: "0" }, block(above)) : null,
			el("dl", null,
				row("Command", q.command ? el("code", { class: "command" }, block(q.command)) : null),
				row("Host", q.host ? [line(q.host), ":", String(q.port), " ", waiting] : null),
				row("Paths", q.paths?.length ? q.paths.map((p) => el("div", null, line(p))) : null),
				row("Project", q.project ? line(q.project) : null),
				row("Directory", q.working_dir && q.working_dir !== q.project ? line(q.working_dir) : null),
				row("Session", q.session ? line(q.session) : null),
				row("Asked by", q.asked_by ? line(q.asked_by) : null)),
			el("div", { class: "actions" }, buttons));
		const card = {
			node, left, q, buttons,
			update: (now) => { waiting.textContent = now.host && now.connections ? "(" + count(now.connections, "connection") + " waiting)" : ""; },
			answer: async (choice) => {
				if (performance.now() - born < SETTLE_MS) return say("The question has just come: look, and answer again.");
				for (const b of buttons) b.disabled = true;
				card.isMine = true;
				try {
					await post("/ui/answer", { id: q.id, answer: choice });
				} catch (failure) {
					card.isMine = false;
					for (const b of buttons) b.disabled = false;
					complain(failure);
				}
			},
		};
		card.update(q);
		return card;
	}

	press(e) {
		if (e.ctrlKey || e.metaKey || e.altKey || e.repeat) return;
		const article = e.target.closest?.(".question");
		const card = [...this.cards.values()].find((c) => c.node === article);
		const choice = card?.q.choices.find((c) => KEYS[c] === e.key);
		if (e.key === "j" || e.key === "k") {
			const nodes = [...this.host.querySelectorAll(".question")], at = nodes.indexOf(article) + (e.key === "j" ? 1 : -1);
			nodes[at]?.focus();
		} else if (choice) card.answer(choice);
		else return;
		e.preventDefault();
		e.stopPropagation();
	}

	tick() {
		for (const card of this.cards.values()) {
			const { q } = card, asked = Date.parse(q.asked), now = Date.now();
			const seconds = q.wait_ms === null || q.wait_ms === undefined ? null : Math.max(0, Math.round((asked + q.wait_ms - now) / 1000));
			card.left.textContent = seconds === null ? "waits until it is answered" : "denied in " + (seconds < 120 ? seconds + " s" : Math.round(seconds / 60) + " min") + " if nobody answers";
		}
	}
}
