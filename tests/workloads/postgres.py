# SPDX-License-Identifier: LGPL-2.1-or-later
"""PostgreSQL from nothing, in one command: initdb, start, load, query, dump, crash and recover, stop."""
from driver import counts

PROGRAMS = ("/usr/lib/postgresql/15/bin/initdb",)
IDENTITIES = ("user",)  # it refuses to run as root
STEPS = ("sh ./session",)
COUNTS = counts.lines("count")
# Random: the system identifier, the order in which pages were written, the names of the statistics' files.
VARIES = (r"data/(base|global|pg_\w+)/.*", r"data/postmaster\.opts", r"server\.log")

SESSION = r"""
set -eu
PATH=/usr/lib/postgresql/15/bin:$PATH
sql() { psql -h "$PWD/run" -d postgres -qAtX -v ON_ERROR_STOP=1 "$@"; }
start() { pg_ctl -D data -l server.log -w -t 300 -o "-k $PWD/run -c listen_addresses=127.0.0.1 -p 5439" start >/dev/null; }
export PGPORT=5439
mkdir run
initdb -D data -U "$(id -un)" --auth=trust -E UTF8 --locale=C >/dev/null
start
sql -f schema.sql
sql -c "copy item from stdin with (format csv)" <items.csv
echo count rows "$(sql -c 'select count(*) from item')"
echo count sum "$(sql -c 'select sum(price) from item')"
echo count parallel "$(sql -c 'set max_parallel_workers_per_gather = 2; select count(*) from item a join item b using (id)')"
echo count tcp "$(psql -h 127.0.0.1 -d postgres -qAtX -c 'select count(*) from item where id % 10 = 0')"
sql -c 'update item set price = price + 1 where id <= 100'
pg_ctl -D data -m immediate stop >/dev/null
start
echo count recovered "$(sql -c 'select sum(price) from item')"
pg_dump -h "$PWD/run" -d postgres -t item --data-only --inserts | grep -c INSERT | sed 's/^/count dumped /'
pg_ctl -D data -m fast -w stop >/dev/null
pg_checksums --check -D data >/dev/null 2>&1 || echo count unchecked 1
rmdir run
"""


def prepare(t):
    t.write("session", SESSION)
    t.write("schema.sql", "create table item (id integer primary key, name text not null, price integer);\n"
                          "create index on item (name);\ncreate view cheap as select * from item where price < 100;\n")
    t.write("items.csv", "".join(f"{i},name {i * 7919 % 5000},{i % 1000}\n" for i in range(1, 5001)))
