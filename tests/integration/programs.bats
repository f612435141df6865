#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# Real programs work under the system call filter, in every profile.

load ../helpers

needs() {
	command -v "$1" >/dev/null || skip "needs: $1"
	# One of a person's own in the home would not be there inside.
	[[ $(command -v "$1") == /usr/* || $(command -v "$1") == /bin/* ]] || skip "needs: $1 of the system"
}

@test "git: a repository made, committed to, cloned, rebased, packed" {
	needs git
	each_backend each_profile with_git
}
with_git() {
	run_airlock run --discard -c '
		set -e
		export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
		git init -q -b main one && cd one
		echo 1 >a && git add a && git commit -qm one && git checkout -qb side && echo 2 >b && git add b && git commit -qm two
		git checkout -q main && echo 3 >c && git add c && git commit -qm three && git rebase -q side
		git gc -q && git mv a d && git stash -q && cd .. && git clone -q one two && git -C two log --oneline | wc -l'
	assert_status 0
	assert_stdout 3
}

@test "make -j and gcc build a program with threads and child processes" {
	needs gcc
	each_backend each_profile with_make
}
with_make() {
	cat >main.c <<-'EOF_C'
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/wait.h>
		#include <unistd.h>
		static void *work(void *p) { return p; }
		int main(void)
		{
			pthread_t t[4];
			for (int i = 0; i < 4; i++)
				if (pthread_create(&t[i], NULL, work, NULL) || pthread_join(t[i], NULL))
					return 1;
			pid_t pid = fork();
			if (pid == 0)
				_exit(3);
			int status;
			waitpid(pid, &status, 0);
			printf("%d %d\n", WEXITSTATUS(status), system("exit 4") >> 8);
		}
	EOF_C
	printf 'all: a b c\na b c: main.c\n\tgcc -pthread -o $@ $<\n' >Makefile
	run_airlock run --discard -c 'make -s -j3 && ./a && ./b && ./c'
	assert_status 0
	assert_stdout $'3 4\n3 4\n3 4'
}

@test "python: processes, pools, threads, sqlite with a journal, sockets of its own" {
	each_backend each_profile with_python
}
with_python() {
	cat >try.py <<-'EOF_PYTHON'
		import asyncio, multiprocessing, socket, sqlite3, subprocess, tempfile, threading
		from concurrent.futures import ProcessPoolExecutor
		def double(n):
		    return n * 2
		async def sleepers():
		    await asyncio.gather(*(asyncio.sleep(0.01) for _ in range(10)))
		    process = await asyncio.create_subprocess_exec("true")
		    return await process.wait()
		if __name__ == "__main__":
		    with ProcessPoolExecutor(2) as pool:
		        assert list(pool.map(double, range(5))) == [0, 2, 4, 6, 8]
		    queue = multiprocessing.Queue()
		    worker = multiprocessing.Process(target=queue.put, args=("from the child",))
		    worker.start(); assert queue.get(timeout=20) == "from the child"; worker.join()
		    assert asyncio.run(sleepers()) == 0
		    thread = threading.Thread(target=double, args=(1,)); thread.start(); thread.join()
		    database = sqlite3.connect("try.db")
		    assert database.execute("pragma journal_mode=wal").fetchone() == ("wal",)
		    database.execute("create table t(a)"); database.commit(); database.close()
		    server = socket.create_server(("127.0.0.1", 0))
		    client = socket.create_connection(server.getsockname())
		    accepted, _ = server.accept(); client.send(b"hello"); assert accepted.recv(5) == b"hello"
		    assert subprocess.run(["sh", "-c", "exit 5"]).returncode == 5
		    with tempfile.TemporaryFile() as file:
		        file.write(b"x")
		    print("all of it")
	EOF_PYTHON
	run_airlock run --discard -- python3 try.py
	assert_status 0
	assert_stdout 'all of it'
}

@test "tar, xargs -P, sort, find and a pipe of them" {
	each_backend each_profile with_tools
}
with_tools() {
	run_airlock run --discard -c '
		set -e
		mkdir d; for i in 1 2 3; do echo $i >d/$i; done; ln d/1 d/4; ln -s 1 d/5; mkfifo d/6
		tar czf d.tgz d && mkdir e && tar xzpf d.tgz -C e && find e -type p | wc -l
		seq 20 | xargs -P 4 -n 1 echo | sort -n | tail -n 1; timeout 5 flock d/1 nice -n 1 true'
	assert_status 0
	assert_stdout $'1\n20'
}

@test "node: promises, workers, child processes" {
	needs node
	each_backend with_node
}
with_node() {
	run_airlock run -- node -e '
		const { Worker } = require("worker_threads"), { execFileSync } = require("child_process");
		new Worker("require(\"worker_threads\").parentPort.postMessage(1)", { eval: true }).on("message", m =>
			require("fs").promises.readFile("file", "utf8").then(t => console.log(m, t.trim(), String(execFileSync("echo", ["x"])).trim())));'
	assert_status 0
	assert_stdout '1 original x'
}

@test "java runs" {
	needs java
	each_backend with_java
}
with_java() {
	run_airlock run -- java -version
	assert_status 0
	assert_stderr_contains 'version'
}

@test "gdb is refused with a reason, and works in permissive" {
	needs gdb
	each_backend with_gdb
}
with_gdb() {
	run_airlock run -- gdb -nx -batch -ex run /bin/true
	assert_stderr_contains 'ptrace: Operation not permitted'
	run_airlock run --profile permissive -- gdb -nx -batch -ex run /bin/true
	assert_stdout_contains 'exited normally'
}

@test "a program continues after a refused system call" {
	each_backend each_profile goes_on
}
goes_on() {
	# unshare(1) reports, and the shell goes on; bash and dash fork through clone where clone3 is missing.
	run_airlock run -c 'dmesg >/dev/null 2>&1; mount -t tmpfs x /tmp 2>/dev/null; bash -c "echo from bash"; (echo from a child)'
	assert_status 0
	assert_stdout $'from bash\nfrom a child'
}
