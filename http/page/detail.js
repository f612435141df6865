/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One run or one session: what it did, what it wrote, what it changed, and what a person can do about it. */
import { el, fill, renew, line, block, plain, size, count, duration, time, age, base } from "./text.js";
import { get, post } from "./api.js";
import { ask, say, complain } from "./dialog.js";
import { Tree, fullPath, sentPath, openState } from "./tree.js";
import { DiffView } from "./diff.js";
import { OutputView } from "./output.js";
import { runState, runAddress, sessionAddress } from "./list.js";

const DONE = { apply: "applied", discard: "discarded", undo: "undone" };

function button(text, key, f, extra) {
	return el("button", { type: "button", on: { click: f }, "aria-keyshortcuts": key || undefined, ...extra }, text, key ? el("kbd", { "aria-hidden": "true" }, key) : null);
}

export class Detail {
	/* owner: {run} or {session, project}; refresh(): the list may have changed */
	constructor(owner, context) {
		this.owner = owner;
		this.context = context;
		this.tab = "changes";
		this.node = el("div", { class: "detail" });
		this.tree = new Tree({ show: (i, isOpened) => this.showChange(i, isOpened), selected: () => this.drawActions(), isMixed: () => this.isMixed });
		this.diff = new DiffView({ act: (action, file) => this.resolve(action, file) });
		this.title = el("header", { class: "title" });
		this.tabs = el("div", { class: "tabs", role: "tablist", "aria-label": "Parts" });
		this.body = el("div", { class: "body", role: "tabpanel", id: "panel", "aria-labelledby": "tab-changes" });
		this.actions = el("div", { class: "actionbar", role: "toolbar", "aria-label": "Decide about changes" });
		this.split = el("div", { class: "split" }, el("div", { class: "left" }, this.tree.node), this.diff.node);
		this.node.append(this.title, this.tabs, this.body);
		fill(this.body, el("p", { class: "empty" }, "Loading"));
	}

	isRun() {
		return this.owner.run !== undefined;
	}

	async load() {
		const reply = this.isRun() ? await get("/ui/run/" + encodeURIComponent(this.owner.run)) : await get("/ui/session/" + encodeURIComponent(this.owner.session), { project: this.owner.project });
		const isFirst = !this.show;
		this.show = reply.show;
		this.reply = reply;
		this.files = this.show.changes?.files || [];
		for (const i of reply.undone) if (this.files[i]) this.files[i].undone = true;
		for (const i of reply.sensitive) if (this.files[i]) this.files[i].sensitive = true;
		this.isMixed = new Set(this.files.map((f) => (f.undone ? "undone" : f.state))).size > 1;
		if (isFirst && this.files.length === 0) this.tab = this.isRun() || (this.show.steps || []).length === 0 ? "output" : "steps";
		if (isFirst && this.isRun() && this.show.status === "running") this.tab = "output";
		this.drawTitle();
		this.tree.take(this.files);
		this.drawTabs();
		if (isFirst) performance.mark("shown");
		if (isFirst) this.openTab(this.tab);
		else this.renewTab();
	}

	/* ── Title ── */

	drawTitle() {
		const s = this.show;
		if (this.isRun()) {
			const state = runState(s);
			const facts = [el("span", { class: "fact" }, el("span", { class: "dot " + state.dot, "aria-hidden": "true" }), state.word), s.duration_ms !== undefined && s.duration_ms !== null ? duration(s.duration_ms) : null, el("span", { title: time(s.started) }, age(s.started) === "now" ? "just now" : age(s.started) + " ago"),
				el("span", { title: plain(s.project) }, line(base(s.project))), s.session ? el("a", { href: sessionAddress(s.project, s.session) }, "session ", line(s.session), s.step ? ", step " + s.step : "") : null, s.asked_by && s.asked_by !== "cli" ? ["asked by ", line(s.asked_by)] : null];
			renew(this.title, this.back(), el("h1", { class: "code", tabindex: "-1" }, block(s.command || "")), el("p", { class: "facts" }, facts.filter(Boolean).map((f) => (f.nodeType && f.classList.contains("fact") ? f : el("span", { class: "fact" }, f)))), s.error ? el("p", { class: "why bad" }, block(s.error.message), s.error.hint ? el("span", { class: "soft" }, " ", block(s.error.hint)) : null) : null);
			return;
		}
		renew(this.title, this.back(), el("h1", { tabindex: "-1" }, el("span", { class: "kind" }, "session"), line(s.session)),
			el("p", { class: "facts" }, [el("span", null, el("span", { class: "dot " + (s.state === "open" ? "open" : "off"), "aria-hidden": "true" }), s.state), count(s.steps.length, "step"), s.changes_mode === "hold" ? "holds its changes" : "applies its changes", el("span", { title: plain(s.project) }, line(base(s.project))), s.processes?.length ? count(s.processes.length, "process", "processes") + " running" : null, "last used " + (age(s.last_used) === "now" ? "just now" : age(s.last_used) + " ago")].filter(Boolean).map((f) => el("span", { class: "fact" }, f))),
			el("div", { class: "actions small" }, button("Fork", null, () => this.fork()), button("Merge into…", "m", () => this.merge()), s.state === "open" ? button("End", null, () => this.end()) : null));
	}

	back() {
		return el("a", { class: "backlink", href: "#/", "aria-label": "Back to the list" }, "‹ List");
	}

	/* ── Tabs ── */

	drawTabs() {
		const names = this.isRun() ? ["changes", "output", "details"] : ["changes", "steps", "output", "details"];
		const words = { changes: ["Changes", this.files.length], output: ["Output", 0], details: ["Details", 0], steps: ["Steps", this.show.steps?.length || 0] };
		renew(this.tabs, names.map((name, i) => el("button", { type: "button", role: "tab", id: "tab-" + name, "aria-selected": String(name === this.tab), "aria-controls": "panel", tabindex: name === this.tab ? "0" : "-1", "aria-keyshortcuts": String(i + 1), on: { click: () => this.openTab(name), keydown: (e) => this.tabKey(e, names, i) } }, words[name][0], words[name][1] ? el("span", { class: "n" }, words[name][1].toLocaleString("en")) : null)));
		this.names = names;
	}

	tabKey(e, names, i) {
		const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
		if (!by) return;
		this.openTab(names[(i + by + names.length) % names.length]);
		this.tabs.querySelector("[aria-selected=true]").focus();
		e.preventDefault();
	}

	openTab(name) {
		this.tab = name;
		this.body.setAttribute("aria-labelledby", "tab-" + name);
		this.drawTabs();
		this.body.className = "body at-" + name;
		if (name !== "output") this.context.follow(null);
		if (name === "changes") this.openChanges();
		else if (name === "output") this.openOutput();
		else if (name === "steps") this.openSteps();
		else this.openDetails();
	}

	renewTab() {
		if (this.tab === "changes") this.openChanges(true);
		else if (this.tab === "steps") this.openSteps();
		else if (this.tab === "details") this.openDetails();
		else if (this.tab === "output") this.renewOutput();
	}

	/* ── Changes ── */

	openChanges(isRenewed) {
		if (this.files.length === 0) {
			this.diff.clear();
			const words = { none: "It changed nothing.", direct: "It wrote straight to the project, so what it changed is not known.", held: "", applied: "", discarded: "", partial: "" };
			const text = this.isRun() && this.show.status === "running" ? "It is still running." : words[this.show.changes?.state] || "There are no changes that wait.";
			fill(this.body, el("p", { class: "empty" }, text), this.actions);
			this.drawActions();
			return;
		}
		if (this.split.parentNode !== this.body) fill(this.body, this.split, this.actions);
		this.tree.rows.redraw();
		this.drawActions();
		const now = this.file && this.files.find((f) => fullPath(f) === fullPath(this.file));
		if (!isRenewed || !now) this.tree.showFirst();
		else if (now.state !== this.file.state || now.undone !== this.file.undone || now.size !== this.file.size) this.showChange(this.files.indexOf(now), false, true);
	}

	showChange(i, isOpened, isForced) {
		const file = this.files[i];
		if (!file) return this.diff.clear("Choose a change to see it.");
		const isSame = this.file && fullPath(this.file) === fullPath(file) && this.diff.file;
		this.file = file;
		this.split.classList.toggle("opened", isOpened === true || (this.split.classList.contains("opened") && isOpened !== false));
		if (!isSame || isForced) {
			clearTimeout(this.later);
			this.later = setTimeout(() => this.diff.show(this.ownerQuery(), file), isOpened || isForced ? 0 : 60);
		}
		if (isOpened && getComputedStyle(this.split).flexDirection === "column") this.diff.node.scrollIntoView({ block: "start" });
	}

	ownerQuery() {
		return this.isRun() ? { run: this.owner.run } : { session: this.owner.session, project: this.owner.project };
	}

	selection() {
		return this.files.filter((f) => this.tree.chosen.has(fullPath(f)));
	}

	drawActions() {
		if (!this.show) return;
		if (this.reply.holder && this.isRun()) {
			renew(this.actions, el("p", null, "This is a step of a session, and is decided with it: ", el("a", { href: sessionAddress(this.show.project, this.reply.holder) }, "session ", line(this.reply.holder))));
			return;
		}
		const chosen = this.selection(), from = chosen.length ? chosen : this.files;
		const waits = from.filter((f) => openState(f) === 1), applied = from.filter((f) => f.state === "applied"), undone = from.filter((f) => f.undone);
		const all = this.files.filter((f) => openState(f) > 0).length;
		const word = (n) => (chosen.length ? n.toLocaleString("en") + " chosen" : n === 1 ? "1 change" : "all " + n.toLocaleString("en"));
		const canUndo = applied.length || undone.length || (!this.isRun() && this.reply.can_undo && !chosen.length);
		renew(this.actions,
			waits.length ? button("Apply " + word(waits.length), "a", () => this.apply(), { class: "main" }) : null,
			waits.length ? button("Discard " + word(waits.length), "d", () => this.discard(), { class: "danger" }) : null,
			canUndo ? button(applied.length || !undone.length ? "Undo " + (applied.length ? word(applied.length) : "the last apply") : "Apply again " + word(undone.length), "u", () => this.undo()) : null,
			all > 1 ? button(chosen.length ? "Choose none" : "Choose all", "x", () => this.tree.chooseAll(chosen.length === 0), { class: "quiet" }) : null,
			el("span", { class: "grow" }),
			el("span", { class: "soft sum" }, this.summary()));
		this.actions.hidden = this.actions.children.length <= 2 && !this.summary();
	}

	summary() {
		const n = {};
		for (const f of this.files) n[f.undone ? "undone" : f.state] = (n[f.undone ? "undone" : f.state] || 0) + 1;
		return Object.entries(n).map(([state, k]) => k.toLocaleString("en") + " " + (state === "conflict" ? "in conflict" : state)).join(", ");
	}

	paths() {
		const chosen = this.selection();
		return chosen.length ? chosen.map(sentPath) : null;
	}

	async act(route, body, done) {
		if (this.isBusy) return null;
		this.isBusy = true;
		this.node.setAttribute("aria-busy", "true");
		try {
			const reply = await post(route, { ...this.ownerQuery(), ...body });
			this.tree.chosen.clear();
			if (done) say(done(reply));
			return reply;
		} catch (failure) {
			if (failure.code !== "confirm") {
				complain(failure);
				return null;
			}
			return failure;
		} finally {
			this.isBusy = false;
			this.node.removeAttribute("aria-busy");
			this.context.refresh();
			await this.load().catch(() => {});
		}
	}

	async apply(more) {
		const body = { paths: this.paths(), ...more };
		const told = (reply) => count(reply.done, "change") + " " + DONE.apply + (reply.notes.length ? ". " + reply.notes.join(" ") : "");
		const reply = await this.act("/ui/apply", body, (r) => told(r));
		if (reply?.code !== "confirm") return reply;
		const list = reply.more.sensitive;
		const answer = await ask("Apply these too?", [el("p", null, "Other programs run or obey what stands here, by themselves:"), el("ul", { class: "paths" }, list.slice(0, 200).map((f) => el("li", null, el("span", { class: "code" }, line(f.path)), el("span", { class: "soft" }, " ", line(f.reason || "")))), list.length > 200 ? el("li", null, "and " + (list.length - 200).toLocaleString("en") + " more") : null)], [{ value: "", text: "No", autofocus: true }, { value: "yes", text: "Apply", class: "main" }]);
		if (answer.value === "yes") return this.act("/ui/apply", { ...body, confirmed: list.map((f) => f.full) }, told);
		return null;
	}

	async discard(more) {
		const n = more ? 1 : (this.selection().length ? this.selection() : this.files).filter((f) => openState(f) === 1).length;
		const answer = await ask("Discard " + count(n, "change") + "?", el("p", null, "They are thrown away and cannot be brought back."), [{ value: "", text: "No", autofocus: true }, { value: "yes", text: "Discard", class: "danger" }]);
		if (answer.value !== "yes") return null;
		return this.act("/ui/discard", { paths: this.paths(), ...more }, (r) => count(r.done, "change") + " discarded");
	}

	async undo() {
		return this.act("/ui/undo", { paths: this.paths() }, (r) => count(r.done, "change") + (r.action === "redo" ? " applied again" : " undone"));
	}

	async resolve(action, file) {
		const paths = [sentPath(file)];
		if (action === "ours") return this.discard({ paths });
		if (action === "merge") return this.apply({ paths, merge: true });
		const answer = await ask("Take the command’s version?", el("p", null, "It replaces what the project has now at ", line(file.path), ". Undo brings that back."), [{ value: "", text: "No", autofocus: true }, { value: "yes", text: "Take it", class: "main" }]);
		return answer.value === "yes" ? this.apply({ paths, force: true }) : null;
	}

	/* ── Output ── */

	openOutput() {
		if (this.isRun()) return this.showOutput(this.owner.run, this.show.status === "running", null);
		const runs = this.context.runsOf(this.owner);
		if (!runs.length) {
			this.context.follow(null);
			fill(this.body, el("p", { class: "empty" }, "No command of this session has run, or none is remembered."));
			return;
		}
		const at = runs.find((r) => r.run === this.outputRun) || runs[0];
		this.outputRun = at.run;
		this.outputRuns = runs.map((r) => r.run + r.status).join();
		const select = el("select", { "aria-label": "Command", on: { change: () => { this.outputRun = select.value; this.openOutput(); } } }, runs.map((r) => el("option", { value: r.run, selected: r.run === at.run }, (r.step ? "step " + r.step + ": " : "") + plain(r.command).slice(0, 120) + (r.status === "running" ? " (running)" : ""))));
		this.showOutput(at.run, at.status === "running", el("p", { class: "pick" }, select, el("a", { href: runAddress(at.run) }, "this run")));
	}

	renewOutput() {
		if (this.isRun()) return this.output?.tell(this.show.status === "running");
		if (this.context.runsOf(this.owner).map((r) => r.run + r.status).join() !== this.outputRuns) this.openOutput();
	}

	showOutput(run, isRunning, above) {
		if (this.output?.run === run && this.output.node.isConnected && isRunning === this.output.wasRunning) return;
		const keep = this.output?.run === run ? this.output : null;
		this.output = keep || new OutputView(run);
		this.output.wasRunning = isRunning;
		fill(this.body, above, this.output.node);
		const output = this.output;
		if (keep) keep.tell(isRunning);
		else output.begin(isRunning).then(() => { if (this.output === output && this.tab === "output") this.context.follow(output); }, complain);
	}

	/* ── Steps ── */

	openSteps() {
		const steps = this.show.steps || [];
		if (!steps.length) return fill(this.body, el("p", { class: "empty" }, "No command has changed anything yet."));
		const lastDecided = steps.reduce((at, s, i) => (s.decided ? i : at), -1);
		fill(this.body, el("ol", { class: "steps", "aria-label": "Steps" }, steps.map((s, i) => el("li", null,
			el("span", { class: "number" }, String(s.step)),
			el("a", { class: "code", href: runAddress(s.run) }, line(s.command)),
			el("span", { class: "soft" }, count(s.count, "change"), s.exit_code ? ", exit " + s.exit_code : "", s.decided ? ", decided" : ""),
			i >= lastDecided && i < steps.length - 1 ? button("Rewind to here", null, () => this.rewind(s.step, steps.length - 1 - i)) : null))),
			this.show.changes_mode === "hold" && lastDecided < steps.length - 1 ? el("div", { class: "actions" }, button("Drop the last step", "r", () => this.rewind(steps.length > 1 ? steps[steps.length - 2].step : 0, 1)), lastDecided < 0 && steps.length > 1 ? button("Drop all steps", null, () => this.rewind(0, steps.length), { class: "danger" }) : null) : null);
	}

	async rewind(step, drops) {
		const answer = await ask("Rewind?", el("p", null, count(drops, "step") + " of this session " + (drops === 1 ? "is" : "are") + " dropped, with what " + (drops === 1 ? "it" : "they") + " changed. The project stays as it is."), [{ value: "", text: "No", autofocus: true }, { value: "yes", text: "Rewind", class: "danger" }]);
		if (answer.value === "yes") await this.act("/ui/rewind", { step }, () => "The session is back at step " + step);
	}

	dropLast() {
		const steps = this.show?.steps || [];
		if (steps.length && !steps[steps.length - 1].decided) this.rewind(steps.length > 1 ? steps[steps.length - 2].step : 0, 1);
	}

	/* ── Sessions ── */

	async merge() {
		const others = this.context.sessions().filter((s) => s.project === this.owner.project && s.session !== this.owner.session);
		if (!others.length) return say("This project has no other session.");
		const answer = await ask("Merge into which session?", el("p", null, el("select", { name: "into", "aria-label": "Session" }, others.map((s) => el("option", { value: s.session }, s.session)))), [{ value: "", text: "No" }, { value: "yes", text: "Merge", class: "main" }]);
		if (answer.value !== "yes") return null;
		const into = answer.fields.get("into");
		try {
			const reply = await post("/ui/merge", { ...this.ownerQuery(), into });
			say(reply.step ? "It is step " + reply.step + " of session " + into : "Session " + into + " has all of it already");
		} catch (failure) {
			const list = failure.more.conflicts || [];
			if (!list.length) return complain(failure);
			await ask("They cannot be merged", [el("p", null, failure.message), el("ul", { class: "paths" }, list.map((p) => el("li", { class: "code" }, line(p))))], [{ value: "", text: "Close", autofocus: true }]);
		}
		this.context.refresh();
		return null;
	}

	async fork() {
		const answer = await ask("Fork this session", el("p", null, el("input", { name: "name", required: true, pattern: "[A-Za-z][A-Za-z0-9._\\-]{0,63}", placeholder: "name of the new session", "aria-label": "Name of the new session", autofocus: true })), [{ value: "yes", text: "Fork", class: "main" }]);
		const name = answer.fields.get("name");
		if (answer.value === "yes" && name) await this.act("/ui/fork", { name }, () => "Session " + name + " goes on from here");
	}

	async end() {
		const answer = await ask("End this session?", el("p", null, "Its processes end and its /tmp is emptied. What it holds stays."), [{ value: "", text: "No", autofocus: true }, { value: "yes", text: "End it" }]);
		if (answer.value === "yes") await this.act("/ui/end", {}, () => "The session is ended");
	}

	/* ── Details ── */

	openDetails() {
		const s = this.show;
		if (!this.isRun()) {
			fill(this.body, table("Session", [["Project", line(s.project)], ["Created", time(s.created)], ["Last used", time(s.last_used)], ["/tmp", size(s.tmp_bytes || 0)]]),
				s.processes?.length ? table("Processes", s.processes.map((p) => [String(p.pid), [el("span", { class: "code" }, line(p.command)), el("span", { class: "soft" }, " since " + time(p.started))]])) : null);
			return;
		}
		const i = s.isolation, hosts = s.network?.hosts || [];
		fill(this.body,
			table("Run", [["Run", el("span", { class: "code" }, line(s.run))], ["Started", time(s.started)], ["Project", line(s.project)], ["Directory", s.working_dir ? line(s.working_dir) : null], ["Asked by", s.asked_by ? line(s.asked_by) : null], ["Processor", s.usage ? duration(s.usage.cpu_ms) : null], ["Memory", s.usage ? size(s.usage.max_rss_kb * 1024) : null], ["Limit hit", s.usage?.limit_hit]]),
			i ? el("section", { class: "facts-table" }, el("h2", null, "Isolation that was in force"), el("ul", { class: "grades" }, ["filesystem", "network", "processes", "syscalls", "limits", "capture"].filter((k) => i[k]).map((k) => el("li", { class: "grade g-" + i[k] }, el("span", null, k), el("strong", null, i[k])))), el("p", { class: "soft" }, "backend ", line(i.backend), ", profile ", line(i.profile || "?"), i.capture_because ? [": ", line(i.capture_because)] : null)) : null,
			hosts.length ? el("section", { class: "facts-table" }, el("h2", null, "Hosts"), el("div", { class: "scroll" }, el("table", null, el("thead", null, el("tr", null, ["Host", "Decision", "By", "Connections", "Sent", "Received"].map((h) => el("th", { scope: "col" }, h)))), el("tbody", null, hosts.map((h) => el("tr", null, el("td", { class: "code" }, line(h.host), ":" + h.port), el("td", null, el("span", { class: "chip " + (h.decision === "allowed" ? "applied" : "conflict") }, h.decision)), el("td", null, line(h.by)), el("td", null, String(h.connections)), el("td", null, size(h.bytes_out)), el("td", null, size(h.bytes_in)))))))) : el("section", { class: "facts-table" }, el("h2", null, "Hosts"), el("p", { class: "soft" }, s.network ? "It tried to reach none." : "The network was off.")),
			s.denials?.length ? table("What the sandbox refused", s.denials.map((d) => ["", [line(d.text), d.hint ? el("span", { class: "soft" }, " to allow: ", line(d.hint)) : null]])) : null,
			s.questions?.length ? table("Questions", s.questions.map((q) => [el("span", { class: "chip" }, q.answer), [block(q.question), q.grant ? el("span", { class: "soft" }, " to allow: ", line(q.grant)) : null]])) : null,
			s.notes?.length ? table("Notes", s.notes.map((n) => ["", line(n)])) : null,
			s.policy?.values ? table("Settings that somebody chose", s.policy.values.filter((v) => v.source !== "built-in").map((v) => [line(v.key), [el("span", { class: "code" }, line(v.value)), el("span", { class: "soft" }, " ", line(v.source))]])) : null);
	}

	/* ── Keys ── */

	press(e) {
		const n = Number(e.key);
		if (n >= 1 && n <= (this.names?.length || 0)) this.openTab(this.names[n - 1]);
		else if (e.key === "n" && this.tab === "changes") this.tree.step(1);
		else if (e.key === "p" && this.tab === "changes") this.tree.step(-1);
		else if (e.key === "s" && this.tab === "changes") this.diff.toggle();
		else if (e.key === "x" && this.tab === "changes") this.tree.chooseAll(this.tree.chosen.size === 0);
		else if (e.key === "a" && this.tab === "changes") this.actions.querySelector("[aria-keyshortcuts=a]")?.click();
		else if (e.key === "d" && this.tab === "changes") this.actions.querySelector("[aria-keyshortcuts=d]")?.click();
		else if (e.key === "u" && this.tab === "changes") this.actions.querySelector("[aria-keyshortcuts=u]")?.click();
		else if (e.key === "r" && !this.isRun()) this.dropLast();
		else if (e.key === "m" && !this.isRun()) this.merge();
		else if (e.key === "t") (this.tab === "changes" && this.files.length ? this.tree.node : this.body.querySelector("[tabindex='0'],a,button,select"))?.focus();
		else return false;
		return true;
	}
}

function table(title, rows) {
	const shown = rows.filter(([, value]) => value !== null && value !== undefined && value !== "");
	if (!shown.length) return null;
	return el("section", { class: "facts-table" }, el("h2", null, title), el("dl", null, shown.map(([label, value]) => [el("dt", null, label), el("dd", null, value)])));
}
