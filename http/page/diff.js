/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One change: the difference in lines, side by side or unified; images before and after; what is binary is said to be. Lines are loaded
 * piece by piece, and the browser lays out only what is in sight (content-visibility), so that its own search finds everything. */
import { el, fill, line, parts, plain, size, block } from "./text.js";
import { get, bytes } from "./api.js";
import { sentPath } from "./tree.js";

const AUTO_LINES = 25000; /* more than that is loaded when somebody scrolls there */
const CHUNK = 150;
const MARKED = 200; /* in longer blocks a line and its partner have little in common */
const IMAGE_MAX = 20 << 20;
const TEXT_MAX = 1 << 20;

let sideBySide = true;
try { sideBySide = localStorage.getItem("airlock-diff") !== "unified"; } catch { /* the default */ }

export function imageType(data) {
	const hex = [...data.slice(0, 12)].map((b) => b.toString(16).padStart(2, "0")).join("");
	if (hex.startsWith("89504e470d0a1a0a")) return "image/png";
	if (hex.startsWith("ffd8ff")) return "image/jpeg";
	if (hex.startsWith("474946383761") || hex.startsWith("474946383961")) return "image/gif";
	if (hex.startsWith("52494646") && hex.slice(16, 24) === "57454250") return "image/webp";
	return null;
}

const IMAGE_NAME = /\.(png|jpe?g|gif|webp)$/i;

/* ── Lines ── */

/* Reads lines of a unified diff one after the other, across pieces. */
class Reader {
	constructor() {
		this.old = this.new = 0;
		this.left = 0; /* lines of the hunk that are still to come */
		this.right = 0;
	}

	/* {kind: "head"|"note"|"hunk"|"same"|"del"|"add"|"end", text, old, new} */
	read(text) {
		if (this.left <= 0 && this.right <= 0) {
			const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$/.exec(text);
			if (hunk) {
				this.old = Number(hunk[1]);
				this.left = hunk[2] === undefined ? 1 : Number(hunk[2]);
				this.new = Number(hunk[3]);
				this.right = hunk[4] === undefined ? 1 : Number(hunk[4]);
				return { kind: "hunk", text: hunk[5].trim(), old: this.old, new: this.new };
			}
			return text.startsWith("\\") ? { kind: "end", text } : text.startsWith("# ") ? { kind: "note", text: text.slice(2) } : { kind: "head", text };
		}
		const sign = text[0], rest = text.slice(1);
		if (sign === "-") { this.left--; return { kind: "del", text: rest, old: this.old++ }; }
		if (sign === "+") { this.right--; return { kind: "add", text: rest, new: this.new++ }; }
		if (sign === "\\") return { kind: "end", text };
		this.left--;
		this.right--;
		return { kind: "same", text: rest, old: this.old++, new: this.new++ };
	}
}

/* Marks where two lines differ: what they have in common at both ends is left alone. */
function differing(a, b) {
	const most = Math.min(a.length, b.length);
	let from = 0, end = 0;
	while (from < most && a[from] === b[from]) from++;
	while (end < most - from && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
	if (from + end < most * 0.25 && most > 4) return null; /* hardly anything is common */
	return { from, end };
}

function content(text, span) {
	if (!span || text.length > 2000) return parts(text);
	const middle = text.slice(span.from, text.length - span.end);
	return [parts(text.slice(0, span.from)), middle ? el("mark", null, parts(middle)) : null, parts(text.slice(text.length - span.end))];
}

function cell(kind, at, text, span) {
	return [el("span", { class: "no " + kind }, at === undefined ? "" : String(at)), el("span", { class: "tx " + kind }, text === undefined ? "" : content(text, span))];
}

function plainRow(row) {
	if (row.kind === "hunk") return el("div", { class: "dr hunk" }, el("span", null, "line " + row.new + (row.text ? " · " : ""), row.text ? parts(row.text) : null));
	return el("div", { class: "dr end" }, el("span", null, row.kind === "end" ? "no newline at the end" : parts(row.text)));
}

function unifiedRow(row, span) {
	if (row.kind === "hunk" || row.kind === "end") return plainRow(row);
	const word = { add: "added", del: "deleted", same: "" }[row.kind];
	return el("div", { class: "dr uni " + row.kind, role: "row" }, el("span", { class: "no" }, row.old === undefined ? "" : String(row.old)), el("span", { class: "no" }, row.new === undefined ? "" : String(row.new)),
		el("span", { class: "sg", "aria-label": word || undefined }, { add: "+", del: "−", same: "" }[row.kind]), el("span", { class: "tx" }, content(row.text, span)));
}

function pairRow(left, right) {
	const span = left?.kind === "del" && right?.kind === "add" ? differing(left.text, right.text) : null;
	return el("div", { class: "dr two", role: "row" }, cell(left ? left.kind : "none", left?.old, left?.text, span), cell(right ? right.kind : "none", right?.new, right?.text, span));
}

/* Rows of the table, from lines that come in pieces. Rows appear at once: side by side, a line that was deleted gets its partner when that
 * comes; unified, the marks where two lines differ are added at the end of the block. */
class Table {
	constructor(isTwo) {
		this.isTwo = isTwo;
		this.node = el("div", { class: "lines " + (isTwo ? "is-two" : "is-uni"), role: "table", "aria-label": isTwo ? "Both versions side by side" : "Lines that changed" });
		this.dels = [];
		this.adds = [];
		this.rows = 0;
	}

	add(row) {
		if (row.kind === "del") {
			if (this.adds.length) this.flush();
			this.dels.push({ row, node: this.put(this.isTwo ? pairRow(row, undefined) : unifiedRow(row)) });
		} else if (row.kind === "add") {
			const partner = this.dels[this.adds.length];
			if (this.isTwo && partner) partner.node.replaceChildren(...pairRow(partner.row, row).childNodes);
			this.adds.push({ row, node: this.isTwo ? partner?.node || this.put(pairRow(undefined, row)) : this.put(unifiedRow(row)) });
		} else {
			this.flush();
			this.put(row.kind === "same" ? (this.isTwo ? pairRow(row, row) : unifiedRow(row)) : plainRow(row));
		}
	}

	flush() {
		if (!this.isTwo && this.dels.length === this.adds.length && this.dels.length <= MARKED)
			this.dels.forEach((del, i) => {
				const add = this.adds[i], span = differing(del.row.text, add.row.text);
				for (const { row, node } of span ? [del, add] : []) node.replaceChildren(...unifiedRow(row, span).childNodes);
			});
		this.dels = [];
		this.adds = [];
	}

	put(node) {
		if (this.rows % CHUNK === 0) this.node.append((this.chunk = el("div", { class: "chunk", role: "rowgroup" })));
		this.chunk.append(node);
		this.rows++;
		return node;
	}
}

/* ── The view ── */

export class DiffView {
	constructor(options) {
		this.options = options; /* act(action, file): the buttons of a conflict */
		this.node = el("section", { class: "diff", "aria-label": "The change that is shown" });
		this.urls = [];
		new ResizeObserver(() => { if (this.file && this.wasTwo !== this.isTwo()) this.show(this.owner, this.file); }).observe(this.node);
	}

	toggle() {
		sideBySide = !sideBySide;
		try { localStorage.setItem("airlock-diff", sideBySide ? "two" : "unified"); } catch { /* for this page only */ }
		if (this.file) this.show(this.owner, this.file);
	}

	clear(text) {
		this.stop?.abort();
		this.file = null;
		fill(this.node, text ? el("p", { class: "empty" }, text) : null);
	}

	isTwo() {
		return sideBySide && this.node.clientWidth >= 600;
	}

	async show(owner, file) {
		this.stop?.abort();
		const stop = (this.stop = new AbortController());
		for (const url of this.urls.splice(0)) URL.revokeObjectURL(url);
		this.owner = owner;
		this.file = file;
		this.wasTwo = this.isTwo();
		const body = el("div", { class: "diff-body", tabindex: "0", "aria-label": plain("difference of " + file.path) }, el("p", { class: "empty" }, "Loading"));
		fill(this.node, this.head(file), this.conflict(file), body);
		try {
			if (file.type === "file" && IMAGE_NAME.test(file.path) && (await this.images(owner, file, body, stop.signal))) return;
			if (file.state === "conflict" && file.kind === "added" && (await this.versions(owner, file, body, stop.signal))) return;
			await this.lines(owner, file, body, stop.signal);
		} catch (failure) {
			if (stop.signal.aborted) return;
			fill(body, el("p", { class: "empty" }, failure.message));
		}
	}

	head(file) {
		const two = this.isTwo();
		return el("header", { class: "diff-head" },
			el("h3", { class: "code" }, file.from ? [line(file.from), " → "] : null, line(file.path)),
			el("span", { class: "chip k-" + file.kind }, file.kind), file.type !== "file" ? el("span", { class: "chip" }, file.type) : null,
			el("span", { class: "soft" }, file.type === "file" && file.kind !== "deleted" ? size(file.size) : "", " ", file.mode ? "mode " + file.mode : ""),
			el("span", { class: "grow" }),
			el("button", { type: "button", class: "quiet wide", "aria-pressed": String(two), on: { click: () => this.toggle() }, "aria-keyshortcuts": "s" }, two ? "Unified" : "Side by side"),
			file.reason ? el("p", { class: "why" + (file.sensitive ? " look" : "") }, block(file.reason)) : null);
	}

	conflict(file) {
		if (file.state !== "conflict") return null;
		const button = (action, text, hint) => el("button", { type: "button", title: hint, on: { click: () => this.options.act(action, file) } }, text);
		return el("div", { class: "conflict-box", role: "group", "aria-label": "Conflict" },
			el("p", null, el("strong", null, "Two versions. "), "On the left is what the project has now, on the right what the command wrote."),
			el("div", { class: "actions" }, button("theirs", "Take the command’s version", "what is in the project now is kept for undo"), button("ours", "Keep the project’s version", "the command’s version is discarded"),
				this.owner.session ? button("merge", "Merge both", "works when both changed different places") : null));
	}

	/* True when it is an image and shown. */
	async images(owner, file, body, signal) {
		const one = async (side) => {
			try {
				const { data } = await bytes("/ui/content", { ...owner, ...pathQuery(file), side }, signal);
				return data.length <= IMAGE_MAX ? data : null;
			} catch (failure) {
				if (failure.status === 404) return null;
				throw failure;
			}
		};
		const before = file.kind === "added" ? null : await one("before"), after = file.kind === "deleted" ? null : await one("after");
		if (![before, after].some((data) => data && imageType(data))) return false;
		const figure = (data, word) => {
			const type = data && imageType(data);
			if (!type) return el("figure", null, el("figcaption", null, word, ": ", data ? "no image" : "nothing"));
			const url = URL.createObjectURL(new Blob([data], { type }));
			this.urls.push(url);
			const caption = el("figcaption", null, word, " · ", size(data.length));
			const image = el("img", { src: url, alt: plain(file.path + ", " + word.toLowerCase()), on: { load: () => caption.append(" · " + image.naturalWidth + " × " + image.naturalHeight) } });
			return el("figure", null, caption, image);
		};
		fill(body, el("div", { class: "images" }, figure(before, "Before"), figure(after, "After")));
		return true;
	}

	/* Shows both versions of a file that the command and somebody else have both created: the diff of the run has only one of them. Returns
	   true if both are texts. */
	async versions(owner, file, body, signal) {
		const one = async (side) => {
			const { data } = await bytes("/ui/content", { ...owner, ...pathQuery(file), side }, signal);
			return data.length > TEXT_MAX || data.includes(0) ? null : new TextDecoder().decode(data);
		};
		const [theirs, ours] = await Promise.all([one("project").catch(() => null), one("after").catch(() => null)]);
		if (theirs === null || ours === null) return false;
		const table = new Table(this.isTwo()), a = theirs.split("\n"), b = ours.split("\n"), most = Math.min(a.length, b.length);
		let from = 0, end = 0;
		while (from < most && a[from] === b[from]) from++;
		while (end < most - from && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
		const same = (i, old) => table.add({ kind: "same", text: a[i], old: i + 1, new: old + 1 });
		for (let i = 0; i < from; i++) same(i, i);
		for (let i = from; i < a.length - end; i++) table.add({ kind: "del", text: a[i], old: i + 1 });
		for (let i = from; i < b.length - end; i++) table.add({ kind: "add", text: b[i], new: i + 1 });
		for (let i = a.length - end; i < a.length - (a[a.length - 1] === "" ? 1 : 0); i++) same(i, i - a.length + b.length);
		table.flush();
		fill(body, table.node);
		return true;
	}

	async lines(owner, file, body, signal) {
		const reader = new Reader(), table = new Table(this.isTwo());
		let from = 0, notes = [], isBinary = false;
		const more = el("button", { type: "button", class: "more", on: { click: () => next() } }, "Load more");
		const next = async () => {
			more.disabled = true;
			const piece = await get("/ui/diff", { ...owner, ...pathQuery(file), from }, signal);
			if (signal.aborted) return;
			for (const text of piece.lines) {
				const row = reader.read(text);
				if (row.kind === "head") isBinary = isBinary || /^Binary files /.test(text);
				else if (row.kind === "note") notes.push(row.text);
				else table.add(row);
			}
			if (piece.next === null) table.flush();
			if (from === 0) fill(body, table.node, more);
			from = piece.next;
			more.hidden = from === null;
			more.disabled = false;
			if (from !== null) more.textContent = "Load more (" + from.toLocaleString("en") + " of " + piece.total.toLocaleString("en") + " lines)";
		};
		await next();
		if (signal.aborted) return;
		if (table.rows === 0 && from === null) {
			const what = isBinary ? "Binary content: not shown as text." : file.type === "directory" ? "A directory." : file.type === "symlink" ? "A symbolic link." : file.kind === "renamed" ? "Renamed; the content is the same." : "The content is the same or empty.";
			fill(body, el("p", { class: "empty" }, what, isBinary ? " " + size(file.size) : null), notes.map((n) => el("p", { class: "note" }, line(n))));
			return;
		}
		if (notes.length) body.prepend(...notes.map((n) => el("p", { class: "note" }, line(n))));
		const watch = new IntersectionObserver((seen) => { if (seen.some((s) => s.isIntersecting) && from !== null && !more.disabled) next(); }, { root: body, rootMargin: "1200px" });
		watch.observe(more);
		signal.addEventListener("abort", () => watch.disconnect());
		while (from !== null && from < AUTO_LINES && !signal.aborted) {
			await new Promise((resolve) => requestAnimationFrame(resolve));
			if (!more.disabled) await next();
		}
	}
}

function pathQuery(file) {
	const sent = sentPath(file);
	return typeof sent === "string" ? { path: sent } : { root: sent.root, base64: sent.base64 };
}
