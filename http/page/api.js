/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The way to the server. Two things let us in: a cookie that scripts cannot read, and a key that only this origin can. Cookies do not
 * know ports, so the cookie alone would also go to any other server on this machine's loopback. */

const KEY = "airlock-key";
let key = null;

export class Failure extends Error {
	constructor(status, error) {
		super(error?.message || "the server answered " + status);
		this.status = status;
		this.code = error?.code || "";
		this.hint = error?.hint || "";
		this.more = {};
	}
}

/* The token stands in the fragment, which no request carries; it is taken out of the address before anything else happens. */
export async function login() {
	const token = new URLSearchParams(location.hash.replace(/^#/, "")).get("token");
	if (token) history.replaceState(null, "", location.pathname + "#/");
	try { key = localStorage.getItem(KEY); } catch { key = null; }
	if (!token) return key !== null;
	const reply = await fetch("/ui/login", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token }) });
	if (!reply.ok) return key !== null;
	key = (await reply.json()).key;
	try { localStorage.setItem(KEY, key); } catch { /* this tab knows it */ }
	return true;
}

function headers(more) {
	return { "Airlock-Key": key || "", ...more };
}

async function fail(reply) {
	let body = null;
	try { body = await reply.json(); } catch { /* no JSON */ }
	const failure = new Failure(reply.status, body?.error);
	failure.more = body || {};
	throw failure;
}

function address(path, query) {
	const given = Object.entries(query || {}).filter(([, value]) => value !== undefined && value !== null);
	return path + (given.length ? "?" + given.map(([name, value]) => name + "=" + encodeURIComponent(value)).join("&") : "");
}

/* Another page of this browser may have logged in meanwhile: then the cookie is another, and so is the key. */
async function request(path, options, more) {
	const reply = await fetch(path, { ...options, headers: headers(more) });
	if (reply.status !== 401) return reply.ok ? reply : fail(reply);
	let now = null;
	try { now = localStorage.getItem(KEY); } catch { /* there is none */ }
	if (!now || now === key) return fail(reply);
	key = now;
	const again = await fetch(path, { ...options, headers: headers(more) });
	return again.ok ? again : fail(again);
}

export async function get(path, query, signal) {
	return (await request(address(path, query), { signal, cache: "no-store" })).json();
}

export async function bytes(path, query, signal) {
	const reply = await request(address(path, query), { signal, cache: "no-store" });
	return { data: new Uint8Array(await reply.arrayBuffer()), total: Number(reply.headers.get("Airlock-Size") || 0) };
}

export async function post(path, body) {
	return (await request(path, { method: "POST", body: JSON.stringify(body) }, { "Content-Type": "application/json" })).json();
}

/* One stream of events. EventSource cannot send the key, so this reads the stream itself; it comes back by itself when the server
 * does. on: event name to function; also "open" and "closed" (a Failure, or null). */
export function events(query, on) {
	const stop = new AbortController();
	let wait = 250;
	(async () => {
		while (!stop.signal.aborted) {
			let why = null;
			try {
				const reply = await request(address("/ui/events", query()), { signal: stop.signal, cache: "no-store" });
				wait = 250;
				on.open?.();
				await read(reply.body.getReader(), on, stop.signal);
			} catch (failure) {
				why = failure;
			}
			if (stop.signal.aborted) return;
			on.closed?.(why instanceof Failure ? why : null);
			await new Promise((resolve) => setTimeout(resolve, wait));
			wait = Math.min(wait * 1.6, 3000);
		}
	})();
	return () => stop.abort();
}

async function read(reader, on, signal) {
	const decoder = new TextDecoder();
	let text = "";
	while (!signal.aborted) {
		const { value, done } = await reader.read();
		if (done) return;
		text += decoder.decode(value, { stream: true });
		for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
			let event = "message", data = "";
			for (const row of text.slice(0, end).split("\n")) {
				if (row.startsWith("event: ")) event = row.slice(7);
				else if (row.startsWith("data: ")) data += row.slice(6);
			}
			if (data) on[event]?.(JSON.parse(data));
		}
	}
}
