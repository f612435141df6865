/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Everything that a command wrote or named is shown through these functions: it becomes text nodes, never markup, and characters
 * that a reader cannot see, or that turn the order of the others around, are shown by their number. */

/* Control, format and invisible characters: bidirectional marks, zero-width ones, tags, line separators, fillers. Tab and newline
 * are left to the caller. */
const HIDDEN =
	/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/u;
const HIDDEN_ALL = new RegExp(HIDDEN.source, "gu");
const LINE_ALL = new RegExp("[\\t\\n]|" + HIDDEN.source, "gu");

/* el("p", {class: "note"}, "text", child): strings become text nodes. */
export function el(tag, attributes, ...children) {
	const node = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes || {})) {
		if (value === false || value === null || value === undefined) continue;
		if (name === "on") for (const [event, f] of Object.entries(value)) node.addEventListener(event, f);
		else if (value === true) node.setAttribute(name, "");
		else node.setAttribute(name, value);
	}
	append(node, children);
	return node;
}

function append(node, children) {
	for (const child of children.flat(Infinity))
		if (child !== null && child !== undefined && child !== false) node.append(child);
}

export function fill(node, ...children) {
	node.replaceChildren();
	append(node, children);
	return node;
}

/* The same, but each child that would look the same stays: a button that is replaced between press and release gets no click. */
export function renew(node, ...children) {
	const made = document.createElement("div");
	append(made, children);
	const now = [...node.childNodes], then = [...made.childNodes], markup = (n) => n.outerHTML ?? n.data;
	if (now.length !== then.length) node.replaceChildren(...then);
	else now.forEach((old, i) => { if (markup(old) !== markup(then[i])) old.replaceWith(then[i]); });
	return node;
}

function number(character) {
	return "U+" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
}

function escape(character) {
	const short = { "\n": "\\n", "\t": "\\t", "\r": "\\r" }[character] || number(character);
	return el("span", { class: "esc", title: "the character " + number(character) }, short);
}

function pieces(text, pattern) {
	const parts = [];
	let at = 0;
	for (const match of text.matchAll(pattern)) {
		if (match.index > at) parts.push(text.slice(at, match.index));
		parts.push(escape(match[0]));
		at = match.index + match[0].length;
	}
	if (at < text.length) parts.push(text.slice(at));
	return parts;
}

/* One line of somebody else's text: a name, a command, a host. Its direction stays its own. */
export function line(text) {
	return el("bdi", { dir: "ltr" }, pieces(String(text ?? ""), LINE_ALL));
}

/* The same as parts for a row of a diff, where tabs stay. */
export function parts(text) {
	return HIDDEN.test(text) ? pieces(text, HIDDEN_ALL) : [text];
}

/* The same for attributes (titles, labels), which cannot hold elements. */
export function plain(text) {
	return String(text ?? "").replace(LINE_ALL, (c) => "<" + number(c) + ">");
}

/* Several lines; newlines stay. */
export function block(text) {
	return el("bdi", { dir: "ltr", class: "block" }, parts(String(text ?? "")));
}

/* ── Values ── */

export function size(bytes) {
	if (bytes === null || bytes === undefined) return "";
	if (bytes < 1000) return bytes + " B";
	const units = ["kB", "MB", "GB", "TB"];
	let value = bytes, unit = -1;
	do { value /= 1000; unit++; } while (value >= 1000 && unit < units.length - 1);
	return (value < 10 ? value.toFixed(1) : Math.round(value)) + " " + units[unit];
}

export function count(n, one, many) {
	return n.toLocaleString("en") + " " + (n === 1 ? one : many || one + "s");
}

export function duration(ms) {
	if (ms === null || ms === undefined) return "";
	if (ms < 1000) return Math.round(ms) + " ms";
	if (ms < 60000) return (ms / 1000).toFixed(1) + " s";
	if (ms < 3600000) return Math.floor(ms / 60000) + " min " + Math.round((ms % 60000) / 1000) + " s";
	return Math.floor(ms / 3600000) + " h " + Math.round((ms % 3600000) / 60000) + " min";
}

export function age(when) {
	const seconds = Math.max(0, (Date.now() - Date.parse(when)) / 1000);
	if (!(seconds >= 0)) return "";
	if (seconds < 60) return "now";
	if (seconds < 3600) return Math.floor(seconds / 60) + " min";
	if (seconds < 86400) return Math.floor(seconds / 3600) + " h";
	return Math.floor(seconds / 86400) + " d";
}

export function time(when) {
	const at = new Date(when);
	return isNaN(at) ? "" : at.toLocaleString();
}

export function base(path) {
	const cut = String(path || "").replace(/\/+$/, "");
	return cut.slice(cut.lastIndexOf("/") + 1) || cut || "/";
}

/* ── Terminal output ── */

/* Colours are shown, nothing is obeyed: every other escape sequence is a small mark whose title tells what it was. Text goes in as
 * it comes; nodes come out. */
export class Terminal {
	constructor() {
		this.rest = "";
		this.style = {};
	}

	add(text) {
		const nodes = [];
		text = this.rest + text;
		this.rest = "";
		let at = 0;
		const sequence = /\x1b(?:\[([0-?]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[ -/]*[0-~])|\r\n/g;
		for (const match of text.matchAll(sequence)) {
			this.text(nodes, text.slice(at, match.index));
			at = match.index + match[0].length;
			if (match[0] === "\r\n") this.text(nodes, "\n");
			else if (match[2] === "m" && /^[0-9;:]*$/.test(match[1])) this.colour(match[1]);
			else nodes.push(el("span", { class: "esc seq", title: "an escape sequence that is not obeyed: " + plain(match[0]) }, "esc"));
		}
		const last = Math.max(text.lastIndexOf("\x1b"), text.endsWith("\r") ? text.length - 1 : -1);
		if (last >= at && text.length - last < 512) { /* a sequence that is not whole yet */
			this.text(nodes, text.slice(at, last));
			this.rest = text.slice(last);
		} else {
			this.text(nodes, text.slice(at));
		}
		return nodes;
	}

	end() {
		const nodes = [];
		this.text(nodes, this.rest);
		this.rest = "";
		return nodes;
	}

	text(nodes, text) {
		if (!text) return;
		const s = this.style, classes = [];
		if (s.fg !== undefined) classes.push("f" + s.fg);
		if (s.bg !== undefined) classes.push("b" + s.bg);
		for (const name of ["bold", "dim", "italic", "under"]) if (s[name]) classes.push(name);
		const shown = parts(text);
		if (classes.length) nodes.push(el("span", { class: classes.join(" ") }, shown));
		else nodes.push(...shown);
	}

	colour(codes) {
		const list = codes.split(/[;:]/).map(Number);
		for (let i = 0; i < list.length; i++) {
			const c = list[i], s = this.style;
			if (c === 0) this.style = {};
			else if (c === 1) s.bold = true;
			else if (c === 2) s.dim = true;
			else if (c === 3) s.italic = true;
			else if (c === 4) s.under = true;
			else if (c === 22) s.bold = s.dim = false;
			else if (c === 23) s.italic = false;
			else if (c === 24) s.under = false;
			else if (c >= 30 && c <= 37) s.fg = c - 30;
			else if (c >= 90 && c <= 97) s.fg = c - 82;
			else if (c === 39) delete s.fg;
			else if (c >= 40 && c <= 47) s.bg = c - 40;
			else if (c >= 100 && c <= 107) s.bg = c - 92;
			else if (c === 49) delete s.bg;
			else if (c === 38 || c === 48) { /* 256 colours and RGB: the nearest of the sixteen is near enough */
				const at = list[i + 1] === 5 ? nearest256(list[i + 2]) : list[i + 1] === 2 ? nearest(list.slice(i + 2, i + 5)) : undefined;
				if (at !== undefined) s[c === 38 ? "fg" : "bg"] = at;
				i += list[i + 1] === 5 ? 2 : 4;
			}
		}
	}
}

function nearest(rgb) {
	const [r, g, b] = rgb, most = Math.max(r, g, b, 1);
	const bits = (r > most * 0.6 ? 1 : 0) | (g > most * 0.6 ? 2 : 0) | (b > most * 0.6 ? 4 : 0);
	return bits === 7 ? (most > 200 ? 15 : most > 90 ? 7 : 8) : most > 190 ? bits + 8 : bits;
}

function nearest256(n) {
	if (!(n >= 0 && n <= 255)) return undefined;
	if (n < 16) return n;
	if (n >= 232) return n > 250 ? 15 : n > 240 ? 7 : 8;
	const v = n - 16, level = (x) => (x ? 55 + x * 40 : 0);
	return nearest([level(Math.floor(v / 36)), level(Math.floor(v / 6) % 6), level(v % 6)]);
}
