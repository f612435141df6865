# SPDX-License-Identifier: LGPL-2.1-or-later
"""redis from nothing, in one command: start a server on loopback, load, query, save, stop, and start it again with its file."""
from driver import counts

PROGRAMS = ("redis-server", "redis-cli")
IDENTITIES = ("user", "root")
STEPS = ("sh ./session",)
COUNTS = counts.lines("count")
VARIES = (r"redis\.log",)

SESSION = r"""
set -eu
cli() { redis-cli -h 127.0.0.1 -p 6390 "$@"; }
start() {
	redis-server --port 6390 --bind 127.0.0.1 --dir "$PWD" --save '' --appendonly yes --logfile redis.log --daemonize yes
	until cli ping 2>/dev/null | grep -q PONG; do sleep 0.1; done
}
stop() {
	cli shutdown save || true
	while cli ping >/dev/null 2>&1; do sleep 0.1; done
}
start
i=0
while [ $i -lt 2000 ]; do echo "SET key:$i value:$i"; echo "RPUSH list $i"; echo "SADD set $((i % 100))"; i=$((i + 1)); done | cli --pipe
echo count keys "$(cli dbsize)"
echo count list "$(cli llen list)"
echo count set "$(cli scard set)"
cli mset a 1 b 2
cli incrby a 41
cli eval 'return redis.call("get", KEYS[1])' 1 key:77
cli bgrewriteaof
while cli info persistence | grep -q 'aof_rewrite_in_progress:1'; do sleep 0.1; done
stop
start
echo count again "$(cli dbsize)"
echo count answer "$(cli get a)"
stop
"""


def prepare(t):
    t.write("session", SESSION)
