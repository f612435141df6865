/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Changes as a tree of directories, with a box before each that waits or can be undone. */
import { el, line, plain, size } from "./text.js";
import { Rows } from "./rows.js";

const LETTERS = { added: "A", modified: "M", deleted: "D", renamed: "R", metadata: "m", type: "T" };

/* One key for each change; a name that is not UTF-8 has its bytes in it. */
export function fullPath(file) {
	return file.root + "/" + (file.path_base64 ? "\0" + file.path_base64 : file.path);
}

/* As the server takes it. */
export function sentPath(file) {
	return file.path_base64 ? { root: file.root, base64: file.path_base64 } : file.root + "/" + file.path;
}

/* The action that a row offers. 1: apply or discard, 2: undo or apply again, 0: none. */
export function openState(file) {
	if (file.undone) return 2;
	if (file.state === "held" || file.state === "conflict") return 1;
	return file.state === "applied" ? 2 : 0;
}

function makeTree(files) {
	const top = { name: "", children: new Map(), files: 0 };
	const roots = new Set(files.map((f) => f.root));
	files.forEach((file, index) => {
		let node = top;
		const segments = (roots.size > 1 ? [file.root + ":"] : []).concat(file.path.split("/"));
		segments.forEach((name, depth) => {
			if (!node.children.has(name)) node.children.set(name, { name, parent: node, children: new Map(), files: 0 });
			node = node.children.get(name);
			if (depth === segments.length - 1) {
				node.file = file;
				node.index = index;
			}
		});
	});
	return top;
}

/* A directory that has nothing but one other directory is one row with it. */
function fold(node) {
	for (const child of node.children.values()) {
		while (child.children.size === 1 && !child.file) {
			const [only] = child.children.values();
			if (only.children.size === 0) break;
			child.name += "/" + only.name;
			child.file = only.file;
			child.index = only.index;
			child.children = only.children;
			for (const grandchild of child.children.values()) grandchild.parent = child;
		}
		fold(child);
	}
}

function total(node) {
	node.files = node.children.size === 0 ? 1 : 0;
	node.size = node.children.size === 0 ? node.file?.size || 0 : 0;
	for (const child of node.children.values()) {
		total(child);
		node.files += child.files;
		node.size += child.size;
	}
}

export class Tree {
	constructor(options) {
		this.options = options; /* show(index), selected(), actions by key */
		this.chosen = new Set();
		this.closed = new Set();
		this.files = [];
		this.visible = [];
		this.rows = new Rows({ label: "Changes", role: "tree", class: "tree", row: (i) => this.row(i), open: (i) => this.open(i), moved: (i) => this.moved(i), key: (e, i) => this.key(e, i) });
		this.node = this.rows.node;
	}

	take(files) {
		this.files = files;
		this.top = makeTree(files);
		fold(this.top);
		total(this.top);
		const there = new Set(files.map(fullPath));
		for (const path of this.chosen) if (!there.has(path)) this.chosen.delete(path);
		for (const file of files) if (!openState(file)) this.chosen.delete(fullPath(file));
		/* Large trees begin with their directories closed. */
		if (!this.wasShown && files.length > 400)
			this.closeLarge(this.top);
		this.wasShown = true;
		this.layout();
	}

	/* A directory that is alone stays open: otherwise there would be nothing to see. */
	closeLarge(node) {
		for (const child of node.children.values()) {
			if (child.children.size > 0 && child.files > 200 && node.children.size > 1) this.closed.add(child);
			else this.closeLarge(child);
		}
	}

	layout() {
		this.visible = [];
		const visit = (node, level) => {
			const children = [...node.children.values()];
			children.forEach((child, i) => {
				this.visible.push({ node: child, level, at: i + 1, of: children.length });
				if (child.children.size > 0 && !this.closed.has(child)) visit(child, level + 1);
			});
		};
		visit(this.top, 1);
		this.rows.reset(this.visible.length);
		this.options.selected?.();
	}

	leaves(node, f) {
		if (node.file) f(node.file);
		for (const child of node.children.values()) this.leaves(child, f);
	}

	/* "true", "false", "mixed", or null where nothing can be chosen. */
	mark(node) {
		let some = false, all = true, any = false;
		this.leaves(node, (file) => {
			if (!openState(file) || (node.children.size > 0 && file === node.file)) return;
			any = true;
			if (this.chosen.has(fullPath(file))) some = true;
			else all = false;
		});
		return !any ? (node.file && openState(node.file) ? String(this.chosen.has(fullPath(node.file))) : null) : all ? "true" : some ? "mixed" : "false";
	}

	toggle(node) {
		const on = this.mark(node) !== "true";
		this.leaves(node, (file) => {
			if (!openState(file)) return;
			if (on) this.chosen.add(fullPath(file));
			else this.chosen.delete(fullPath(file));
		});
		/* A directory counts as chosen when everything in it is. */
		for (let up = node.parent; up && up !== this.top; up = up.parent)
			if (up.file && openState(up.file)) {
				if (this.mark(up) === "true") this.chosen.add(fullPath(up.file));
				else this.chosen.delete(fullPath(up.file));
			}
		this.rows.redraw();
		this.options.selected?.();
	}

	chooseAll(on) {
		this.chosen.clear();
		if (on) for (const file of this.files) if (openState(file)) this.chosen.add(fullPath(file));
		this.rows.redraw();
		this.options.selected?.();
	}

	row(i) {
		const { node, level, at, of } = this.visible[i], file = node.file, isDir = node.children.size > 0, mark = this.mark(node);
		const state = file ? (file.undone ? "undone" : file.state) : "";
		const said = !isDir && (state === "conflict" || state === "skipped" || state === "discarded" || state === "undone" || file.sensitive || this.options.isMixed?.());
		const label = plain(node.name + (file ? ", " + file.kind + ", " + state : "") + (isDir ? ", " + node.files + " changes" : "") + (file?.reason ? ", " + file.reason : ""));
		const row = el("div", { role: "treeitem", "aria-level": level, "aria-posinset": at, "aria-setsize": of, "aria-label": label, "aria-checked": mark ?? undefined,
			"aria-expanded": isDir ? String(!this.closed.has(node)) : undefined, class: "level" + Math.min(level, 12) + (file && !isDir ? " s-" + state : "") + (file?.sensitive ? " sensitive" : "") },
			el("span", { class: "caret", "aria-hidden": "true" }, isDir ? (this.closed.has(node) ? "▸" : "▾") : ""),
			el("span", { class: "box " + (mark || "none"), "aria-hidden": "true", on: { click: (e) => { e.preventDefault(); if (mark !== null) this.toggle(this.visible[i].node); } } }),
			el("span", { class: "letter k-" + (isDir && !file ? "dir" : file?.kind || "dir"), title: file ? file.kind : "directory" }, isDir && (!file || file.kind === "modified") ? "" : LETTERS[file?.kind] || ""),
			el("span", { class: "name" + (isDir ? " dir" : "") }, file?.from ? [line(file.from), " → "] : null, line(node.name + (isDir ? "/" : ""))),
			said ? el("span", { class: "chip " + (file.sensitive && state === "held" ? "wait" : state) }, file.sensitive && state === "held" ? "look" : state) : null,
			el("span", { class: "size" }, isDir ? node.files.toLocaleString("en") : file?.type === "file" ? size(file.size) : file?.type));
		if (file?.reason) row.title = plain(file.reason);
		return row;
	}

	open(i) {
		const { node } = this.visible[i];
		if (node.children.size > 0) {
			if (this.closed.has(node)) this.closed.delete(node);
			else this.closed.add(node);
			this.layout();
		} else {
			this.options.show(node.index, true);
		}
	}

	moved(i) {
		const at = this.visible[i];
		if (at && at.node.children.size === 0) this.options.show(at.node.index, false);
	}

	/* The next change in the list, or the one before. */
	step(by) {
		for (let i = this.rows.current + by; i >= 0 && i < this.visible.length; i += by)
			if (this.visible[i].node.children.size === 0) return this.rows.move(i);
	}

	showFirst() {
		const at = this.visible.findIndex((v) => v.node.children.size === 0);
		if (at >= 0) this.rows.move(at);
		else this.options.show(-1, false);
	}

	key(e, i) {
		const at = this.visible[i];
		if (!at) return false;
		const { node } = at, isDir = node.children.size > 0;
		if (e.key === " ") {
			if (this.mark(node) !== null) this.toggle(node);
			return true;
		}
		if (e.key === "ArrowRight" || e.key === "l") {
			if (isDir && this.closed.has(node)) this.open(i);
			else if (isDir) this.rows.move(i + 1);
			return true;
		}
		if (e.key === "ArrowLeft" || e.key === "h") {
			if (isDir && !this.closed.has(node)) this.open(i);
			else {
				const up = this.visible.findIndex((v) => v.node === node.parent);
				if (up >= 0) this.rows.move(up);
			}
			return true;
		}
		return false;
	}
}
