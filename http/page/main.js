/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The page as a whole: who is let in, the address, the stream of events, keys. */
import { el, fill } from "./text.js";
import { login, get, events, Failure } from "./api.js";
import { List } from "./list.js";
import { Questions } from "./questions.js";
import { Detail } from "./detail.js";
import { ask, isOpen, complain } from "./dialog.js";

const main = document.getElementById("main"), panes = document.getElementById("panes"), link = document.getElementById("link");
const list = new List(document.getElementById("list"), document.getElementById("filter"));
const questions = new Questions(document.getElementById("questions"), document.getElementById("badge"));
let overview = null, detail = null, followed = null, stopEvents = null, refreshing = null, isStale = false;

/* ── The list ── */

const context = {
	refresh,
	sessions: () => overview?.sessions || [],
	runsOf: (owner) => (overview?.runs || []).filter((r) => r.session === owner.session && r.project === owner.project),
	follow: (output) => {
		if (followed === output) return;
		followed = output;
		if (stopEvents) listen();
	},
};

/* One at a time; what comes meanwhile is one more. */
async function refresh() {
	if (refreshing) {
		isStale = true;
		return;
	}
	refreshing = true;
	try {
		do {
			isStale = false;
			take(unpack(await get("/ui/overview")));
		} while (isStale);
	} catch (failure) {
		if (failure instanceof Failure && failure.status === 401) shut();
	} finally {
		refreshing = false;
	}
}

/* The lists are what `airlock log --json` and `airlock session list --json` print. */
function unpack(reply) {
	return { runs: reply.log.runs, sessions: reply.sessions.sessions };
}

function take(now) {
	const before = overview;
	overview = now;
	list.take(now);
	if (!before) performance.mark("shown");
	if (detail && before && mark(before) !== mark(now)) detail.load().catch(gone);
}

/* A summary of the shown item as the list has it. If it changes, the item is loaded again. */
function mark(o) {
	if (detail.isRun()) return JSON.stringify(o.runs.find((r) => r.run === detail.owner.run));
	const session = o.sessions.find((s) => s.session === detail.owner.session && s.project === detail.owner.project);
	return JSON.stringify([session && { ...session, last_used: null }, o.runs.filter((r) => r.session === detail.owner.session).map((r) => r.run + r.status + r.changes?.state)]);
}

function gone(failure) {
	if (failure instanceof Failure && failure.status === 401) shut();
	else if (failure instanceof Failure && failure.status === 404) fill(main, el("p", { class: "empty" }, failure.message));
	else if (failure instanceof Failure) complain(failure);
}

/* ── Events ── */

function listen() {
	stopEvents?.();
	stopEvents = events(() => (followed ? followed.place() : {}), {
		open: () => {
			link.textContent = "live";
			link.className = "link on";
			refresh();
		},
		closed: (failure) => {
			if (failure && (failure.status === 401 || failure.status === 403)) return shut();
			link.textContent = "no connection, trying again";
			link.className = "link off";
		},
		questions: (e) => questions.take(e.questions),
		changed: () => refresh(),
		output: (e) => followed?.take(e),
		end: () => refresh(),
	});
}

/* ── The address ── */

function route() {
	const at = location.hash || "#/", run = /^#\/run\/([^?]+)/.exec(at), session = /^#\/session\/([^?]+)\?project=(.*)$/.exec(at);
	if (at === "#main") return main.focus();
	context.follow(null);
	detail = null;
	panes.classList.toggle("has-detail", Boolean(run || session));
	list.choose(at);
	if (run) detail = new Detail({ run: decodeURIComponent(run[1]) }, context);
	else if (session) detail = new Detail({ session: decodeURIComponent(session[1]), project: decodeURIComponent(session[2]) }, context);
	if (!detail) return fill(main, welcome());
	fill(main, detail.node);
	const shown = detail;
	shown.load().then(() => { if (shown === detail && panes.classList.contains("has-detail") && getComputedStyle(document.getElementById("side")).display === "none") shown.node.querySelector("h1")?.focus(); }, gone);
}

function welcome() {
	return el("div", { class: "welcome" }, el("h1", null, "Nothing chosen"), el("p", null, "Choose a session or a run at the side. Press ", el("kbd", null, "?"), " for the keys."));
}

function shut() {
	stopEvents?.();
	link.textContent = "not let in";
	link.className = "link off";
	questions.take([]);
	panes.hidden = true;
	const old = document.getElementById("shut");
	if (!old) document.body.append(el("div", { class: "welcome", id: "shut" }, el("h1", null, "This page is locked"), el("p", null, "Run ", el("code", null, "airlock ui"), " and open the address that it prints. The address carries a token that lets only you in.")));
}

/* ── Keys ── */

const HELP = [["/", "filter the list"], ["l", "go to the list"], ["t", "go to the changes, or what the tab shows"], ["↑ ↓ j k", "move"], ["Enter", "open"], ["← →", "close and open a directory"], ["Space", "choose a change"], ["x", "choose all or none"], ["n p", "next change, the one before"], ["1 … 4", "changes, output, details, steps"],
	["s", "side by side, or unified"], ["a", "apply"], ["d", "discard"], ["u", "undo"], ["r", "drop the last step of a session"], ["m", "merge a session into another"], ["q", "go to the questions; then a allows once, d denies"], ["Esc", "back to the list"], ["?", "these keys"]];

function help() {
	ask("Keys", el("dl", { class: "keys" }, HELP.map(([key, text]) => [el("dt", null, el("kbd", null, key)), el("dd", null, text)])), [{ value: "", text: "Close", autofocus: true }]);
}
document.getElementById("help").addEventListener("click", help);

document.addEventListener("keydown", (e) => {
	if (e.ctrlKey || e.metaKey || e.altKey || isOpen() || e.defaultPrevented) return;
	const isTyping = e.target.matches?.("input, textarea, select");
	if (e.key === "Escape" && isTyping) {
		e.target.blur();
		list.focus();
	}
	if (isTyping) return;
	if (e.key === "?") help();
	else if (e.key === "/") document.getElementById("filter").focus();
	else if (e.key === "q") questions.focus();
	else if (e.key === "l") list.focus();
	else if (e.key === "Escape") { location.hash = "#/"; list.focus(); }
	else if ((e.key === "ArrowDown" || e.key === "j") && e.target === document.body) list.focus();
	else if (!detail?.press(e)) return;
	e.preventDefault();
});

/* ── The beginning ── */

addEventListener("hashchange", route);
setInterval(() => { if (overview && document.visibilityState === "visible") { if (overview.runs.some((r) => r.status === "running")) refresh(); else list.rows.redraw(); } }, 15000);

(async () => {
	if (!(await login())) return shut();
	route();
	await refresh();
	if (document.getElementById("shut")) return;
	listen();
	if (!location.hash || location.hash === "#/") list.focus();
})();
