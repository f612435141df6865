# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
# A minimal Debian 12 in a directory, for tools that try airlock where nothing is installed. Needs root.

# new_system DIR: makes it; DIR must not exist. MIRROR names another Debian mirror.
new_system() {
	[ "$(id -u)" -eq 0 ] || fail 'needs root'
	[ ! -e "$1" ] || fail "$1 exists already"
	for program in debootstrap unshare; do
		command -v "$program" >/dev/null || fail "needs $program"
	done
	debootstrap --variant=minbase bookworm "$1" "${MIRROR:-http://deb.debian.org/debian}" >"$1.log" 2>&1 ||
		fail "debootstrap failed; see $1.log"
	rm "$1.log"
}

# enter DIR FOLDER PROGRAM...: runs it in FOLDER of that system, with its own mounts and processes. A chroot would not
# do: the kernel refuses user namespaces to processes whose root is not the root of their mount namespace.
enter() {
	unshare --mount --propagation private --pid --fork --kill-child --ipc --uts sh -eu -c '
		mount --bind "$1" "$1"
		cd "$1"
		mount -t proc proc proc
		mount --rbind /sys sys
		mount --rbind /dev dev
		pivot_root . mnt
		umount -l /mnt
		cd "$2"
		shift 2
		exec "$@" </dev/null' enter "$@"
}

# enter_clean DIR FOLDER PROGRAM...: the same with nothing of our environment but the proxies.
enter_clean() {
	system=$1 folder=$2
	shift 2
	enter "$system" "$folder" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive \
		${http_proxy+http_proxy="$http_proxy"} ${https_proxy+https_proxy="$https_proxy"} "$@"
}
