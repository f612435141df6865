// SPDX-License-Identifier: LGPL-2.1-or-later
// The official clients with a real `airlock serve`, over HTTP and in both eras. Prints TAP.
//   node http_clients.mjs URL TOKEN      in the directory with node_modules; URL without /mcp
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [base, token] = process.argv.slice(2);
const resolve = createRequire(process.cwd() + '/').resolve;
const load = name => import(pathToFileURL(resolve(name)));
const one = {
    ...(await load('@modelcontextprotocol/sdk/client/index.js')),
    ...(await load('@modelcontextprotocol/sdk/client/streamableHttp.js')),
    ...(await load('@modelcontextprotocol/sdk/types.js'))
};
const two = await load('@modelcontextprotocol/client');

const info = { name: 'conformance', version: '1' };
const transport = (kind, secret = token) =>
    new kind.StreamableHTTPClientTransport(new URL(base + '/mcp'), { requestInit: { headers: { Authorization: `Bearer ${secret}` } } });

async function connectTwo(versionNegotiation, secret) {
    const client = new two.Client(info, { versionNegotiation });
    await client.connect(transport(two, secret));
    return client;
}

const ways = {
    'sdk 1, 2025': async secret => {
        const client = new one.Client(info);
        await client.connect(transport(one, secret));
        return client;
    },
    'client 2, 2025': async secret => connectTwo({ mode: 'legacy' }, secret),
    'client 2, 2026': async secret => connectTwo({ mode: { pin: '2026-07-28' } }, secret),
    'client 2, whatever there is': async secret => connectTwo({ mode: 'auto' }, secret)
};

const isOne = client => client instanceof one.Client;
/** Both clients take options, at different places. */
const call = (client, name, args, options) =>
    isOne(client)
        ? client.callTool({ name, arguments: args }, undefined, options)
        : client.callTool({ name, arguments: args }, options);
const text = result => result.content[0].text;
const rest = async (method, path, body) => {
    const reply = await fetch(base + path, {
        method, headers: { Authorization: `Bearer ${token}` }, body: body && JSON.stringify(body)
    });
    return reply.status === 204 ? null : reply.json();
};
const pause = ms => new Promise(done => setTimeout(done, ms));
let made = 0;
const newSandbox = async () => (await rest('POST', '/v1/sandboxes', { id: `s${++made}` })).id;

const tests = {
    'tools are listed, and each kind of them works': async connect => {
        const client = await connect();
        const sandbox = await newSandbox();
        const { tools } = await client.listTools(); // from here on the client holds results against the schemas
        assert.equal(tools.length, 12);
        assert.ok(tools.every(tool => tool.inputSchema.properties.sandbox));
        const done = await call(client, 'run_command', { command: 'echo hi; echo x >/made; pwd', sandbox });
        assert.match(text(done), /^hi\n\/\n/);
        assert.equal((await call(client, 'read_file', { path: '/made', sandbox })).structuredContent.content, 'x\n');
        await call(client, 'write_file', { path: '/made', content: 'one\n', sandbox });
        await call(client, 'edit_file', { path: '/made', old: 'one', new: 'two', sandbox });
        assert.match(text(await call(client, 'run_command', { command: 'cat /made', sandbox })), /^two\n/);
        for (const [name, args] of [['list_files', {}], ['glob', { pattern: '*' }], ['grep', { pattern: 'two' }]]) {
            const found = await call(client, name, { ...args, sandbox });
            assert.match(JSON.stringify(found.structuredContent), /\/made/, name);
            assert.doesNotMatch(JSON.stringify(found.structuredContent), /\/usr/, name);
        }
        const run = done.structuredContent.run;
        for (const name of ['list_changes', 'diff', 'apply_changes', 'discard_changes', 'undo'])
            assert.ok((await call(client, name, { run, sandbox })).content.length > 0, name); // there are none: a result, or isError
        assert.equal((await call(client, 'read_file', { path: '/nothing', sandbox })).isError, true);
        await client.close();
    },
    'resources: the output of a command': async connect => {
        const client = await connect();
        const done = await call(client, 'run_command', { command: 'seq 3' });
        const { resourceTemplates } = await client.listResourceTemplates();
        assert.ok(resourceTemplates.some(t => t.uriTemplate.startsWith('airlock://run/{run}/stdout')));
        const { resources } = await client.listResources();
        assert.ok(resources.some(r => r.uri.includes(done.structuredContent.run)));
        const read = await client.readResource({ uri: `airlock://run/${done.structuredContent.run}/stdout` });
        assert.equal(read.contents[0].text, '1\n2\n3\n');
        await assert.rejects(client.readResource({ uri: 'airlock://run/19990101-000000.000000-0000/stdout' }));
        await client.close();
    },
    'progress while a command runs': async connect => {
        const client = await connect();
        let told = 0;
        const done = await call(client, 'run_command', { command: 'sleep 2.5; echo end' }, { onprogress: () => told++ });
        assert.match(text(done), /^end\n/);
        assert.ok(told > 0);
        await client.close();
    },
    'a call that is cancelled ends its command': async connect => {
        const client = await connect();
        const sandbox = await newSandbox();
        const stop = new AbortController();
        const running = call(client, 'run_command', { command: 'sleep 300', sandbox }, { signal: stop.signal });
        running.catch(() => {});
        await pause(500);
        assert.match(text(await call(client, 'run_command', { command: 'pgrep -c sleep', sandbox })), /^1\n/);
        stop.abort('enough');
        await assert.rejects(running);
        let left = '';
        for (let i = 0; i < 50 && !/^0\n/.test(left); i++, await pause(100))
            left = text(await call(client, 'run_command', { command: 'pgrep -c sleep || true', sandbox }));
        assert.match(left, /^0\n/);
        await client.close();
    },
    'a client that goes ends its command': async connect => {
        const client = await connect();
        const sandbox = await newSandbox();
        call(client, 'run_command', { command: 'sleep 300', sandbox }).catch(() => {});
        await pause(500);
        if (client.transport.sessionId) // in 2025 a connection that ends cancels nothing, a session that ends does
            await client.transport.terminateSession();
        await client.close();
        const other = await connect(); // reconnected
        let left = '';
        for (let i = 0; i < 50 && !/^0\n/.test(left); i++, await pause(100))
            left = text(await call(other, 'run_command', { command: 'pgrep -c sleep || true', sandbox }));
        assert.match(left, /^0\n/);
        await other.close();
    },
    'several clients and calls at once': async connect => {
        const clients = await Promise.all([connect(), connect(), connect()]);
        const sandbox = await newSandbox();
        const results = await Promise.all(clients.flatMap((client, i) => [1, 2, 3].map(
            n => call(client, 'run_command', { command: `echo ${i} ${n} >/tmp/${i}${n}; echo ${i} ${n}`, sandbox }))));
        assert.deepEqual(results.map(r => r.structuredContent.stdout), [0, 1, 2].flatMap(i => [1, 2, 3].map(n => `${i} ${n}\n`)));
        assert.match(text(await call(clients[0], 'run_command', { command: 'ls /tmp | wc -l', sandbox })), /^9\n/);
        await Promise.all(clients.map(client => client.close()));
    },
    'a session that ended, and a new one': async connect => {
        const client = await connect();
        await call(client, 'run_command', { command: 'echo kept >/kept' });
        if (client.transport.terminateSession && client.transport.sessionId)
            await client.transport.terminateSession();
        await client.close();
        const next = await connect();
        assert.match(text(await call(next, 'run_command', { command: 'cat /kept' })), /^kept\n/);
        await next.close();
    },
    'a wrong token, and a sandbox that is not there': async connect => {
        await assert.rejects(connect('0'.repeat(64)));
        const client = await connect();
        await assert.rejects(call(client, 'run_command', { command: 'true', sandbox: 'nothing' }));
        assert.match(text(await call(client, 'run_command', { command: 'echo on' })), /^on\n/);
        await client.close();
    }
};

let count = 0;
for (const [way, connect] of Object.entries(ways))
    for (const [name, test] of Object.entries(tests)) {
        count++;
        try {
            await test(connect);
            console.log(`ok ${count} ${way}: ${name}`);
        } catch (error) {
            process.exitCode = 1;
            console.log(`not ok ${count} ${way}: ${name}\n${String(error.stack).replace(/^/gm, '# ')}`);
        }
    }
console.log(`1..${count}`);
process.exit(); // a client that could not connect may keep a connection
