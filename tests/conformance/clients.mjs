// SPDX-License-Identifier: LGPL-2.1-or-later
// The official clients with a real `airlock mcp`, in both eras. Prints TAP.
//   node clients.mjs AIRLOCK PROJECT      in the directory with node_modules
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [airlock, project] = process.argv.slice(2);
const resolve = createRequire(process.cwd() + '/').resolve;
const load = name => import(pathToFileURL(resolve(name)));
const one = {
    ...(await load('@modelcontextprotocol/sdk/client/index.js')),
    ...(await load('@modelcontextprotocol/sdk/client/stdio.js')),
    ...(await load('@modelcontextprotocol/sdk/types.js'))
};
const two = { ...(await load('@modelcontextprotocol/client')), ...(await load('@modelcontextprotocol/client/stdio')) };

const info = { name: 'conformance', version: '1' };
const server = { command: airlock, args: ['mcp', '--project', project], cwd: project, stderr: 'inherit', env: process.env };

/** Each way to connect: a client that answers questions with `answer`. */
const ways = {
    'sdk 1, 2025': async answer => {
        const client = new one.Client(info, { capabilities: { elicitation: {} } });
        client.setRequestHandler(one.ElicitRequestSchema, request => answer(request.params));
        await client.connect(new one.StdioClientTransport(server));
        return client;
    },
    'client 2, 2025': async answer => connectTwo(answer, { mode: 'legacy' }),
    'client 2, 2026': async answer => connectTwo(answer, { mode: { pin: '2026-07-28' } }),
    'client 2, whatever there is': async answer => connectTwo(answer, { mode: 'auto' })
};

async function connectTwo(answer, versionNegotiation) {
    const client = new two.Client(info, { capabilities: { elicitation: { form: {} } }, versionNegotiation });
    client.setRequestHandler('elicitation/create', async request => answer(request.params));
    await client.connect(new two.StdioClientTransport(server));
    return client;
}

const call = (client, name, args) => client.callTool({ name, arguments: args });
const text = result => result.content[0].text;

const tests = {
    'tools are listed, and their results are as their schemas say': async connect => {
        const client = await connect(() => ({ action: 'decline' }));
        const { tools } = await client.listTools(); // from here on the client holds results against the schemas
        assert.equal(tools.length, 12);
        const done = await call(client, 'run_command', { command: 'echo hi; echo x >made' });
        assert.match(text(done), /^hi\n/);
        const run = done.structuredContent.run;
        await call(client, 'list_changes', { run });
        assert.match(text(await call(client, 'diff', { run })), /\+x/);
        await call(client, 'undo', { run });
        await call(client, 'write_file', { path: 'made', content: 'one\n' });
        await call(client, 'edit_file', { path: 'made', old: 'one', new: 'two' });
        assert.equal((await call(client, 'read_file', { path: 'made' })).structuredContent.content, 'two\n');
        assert.equal(readFileSync(project + '/made', 'utf8'), 'two\n');
        await call(client, 'list_files', {});
        await call(client, 'glob', { pattern: '*' });
        await call(client, 'grep', { pattern: 'two' });
        assert.equal((await call(client, 'diff', { run: '19990101' })).isError, true);
        assert.equal((await client.listResources()).resources.length % 3, 0);
        await client.close();
    }
};
for (const action of ['accept', 'decline', 'cancel'])
    tests[`elicitation: ${action}`] = async connect => {
        let asked = 0;
        const client = await connect(params => {
            asked++;
            assert.match(params.message, /Run command with network access: echo there\?$/);
            return action === 'accept' ? { action, content: { decision: 'allow_once' } } : { action };
        });
        const result = await call(client, 'run_command', { command: 'echo there', network: true });
        assert.equal(asked, 1);
        assert.equal(Boolean(result.isError), action !== 'accept');
        assert.match(text(result), action === 'accept' ? /^there\n/ : /^ERROR: permission was denied/);
        await client.close();
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
