#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# One cell of the table of tools/vm: what doctor says of this backend here, and what a run with it does. Prints one word or
# sentence: overlay or copy (captured, applied and undone that way), "refused" (doctor said so before), or what is BROKEN.
#   cell.sh AIRLOCK BACKEND WORK [STATE]     WORK: an absolute directory to work in; made and removed
# For any POSIX shell with the usual tools, busybox included: it also runs in containers that have nothing else.
set -u
airlock=$1 backend=$2 work=$3 state=${4:-$3/state}

end() {
	cd / && chmod -R u+rwx "$work" "$state" 2>/dev/null
	rm -rf "$work" "$state"
	echo "$1"
	exit 0
}

# row NAME: the status that doctor gave it
row() {
	sed -n "/\"name\": \"$1\"/{n;s/.*\"status\": \"\([a-z]*\)\".*/\1/p;}" "$work/doctor"
}

mkdir -p "$work/p/.git" "$work/p/d" "$state" || end "BROKEN: cannot make $work"
export HOME="$work" XDG_STATE_HOME="$state" XDG_CONFIG_HOME="$work/config" XDG_DATA_HOME="$work/data"
cd "$work/p" || exit 1
echo original >file
echo old >d/inside
"$airlock" doctor --json >"$work/doctor" 2>"$work/said"
case $backend in
landlock) works=$(row Landlock) ;;
*) works=$(row "$backend") ;;
esac
[ -n "$works" ] || end "BROKEN: doctor has no row for $backend: $(head -n 1 "$work/said")"
"$airlock" run --json -p . --backend "$backend" -c 'rm -r d; echo more >>file; echo x >new' >"$work/out" 2>"$work/said"
status=$?
capture=$(sed -n 's/.*"capture": "\([a-z]*\)".*/\1/p' "$work/out")
if [ $status -ne 0 ]; then
	[ "$works" != ok ] && end 'refused'
	end "BROKEN: doctor says ok, the run ended with $status: $(sed -n 's/.*"message": "\(.*\)",*/\1/p' "$work/out" | head -n 1)"
fi
[ "$works" = failed ] && end 'BROKEN: doctor says failed, the run works'
[ "$backend" != landlock ] && [ "$(row overlay)" = ok ] && [ "$capture" != overlay ] && end "BROKEN: doctor promises an overlay, captured by $capture"
if [ "$(cat file)" != "$(printf 'original\nmore')" ] || [ -e d ] || [ ! -e new ]; then end 'BROKEN: not applied'; fi
"$airlock" undo >/dev/null 2>"$work/said" || end "BROKEN: undo: $(head -n 1 "$work/said")"
if [ "$(cat file)" != original ] || [ ! -e d/inside ] || [ -e new ]; then end 'BROKEN: not undone'; fi
end "$capture"
