# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs that connect somewhere, as people call them; each does something with a server of servers.py that it could not do
without. Commands are for sh, in a directory that prepare() has filled."""
import os
import pwd
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

JAVA = """import java.io.*; import java.net.URI; import java.net.http.*; import java.security.*; import java.security.cert.*;
import javax.net.ssl.*;
class Fetch {
  public static void main(String[] words) throws Exception {
    KeyStore keys = KeyStore.getInstance("PKCS12");
    keys.load(null, null);
    try (InputStream in = new FileInputStream("ca.pem")) {
      keys.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(in));
    }
    TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(keys);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    HttpClient client = HttpClient.newBuilder().sslContext(context).build();
    System.out.print(client.send(HttpRequest.newBuilder(URI.create(words[0])).build(), HttpResponse.BodyHandlers.ofString()).body());
  }
}
"""
GO = """package main

import ("fmt"; "io"; "net"; "os")

func main() {
	c, err := net.Dial("tcp", os.Args[1])
	if err == nil {
		fmt.Fprintf(c, "GET /hello HTTP/1.0\\r\\nHost: %s\\r\\n\\r\\n", os.Args[1])
		_, err = io.Copy(os.Stdout, c)
	}
	if err != nil { fmt.Fprintln(os.Stderr, err); os.Exit(1) }
}
"""
URLLIB = "import ssl, sys, urllib.request as u; " \
         "print(u.urlopen(sys.argv[1], context=ssl.create_default_context(cafile='ca.pem')).read().decode())"
REQUESTS = "import requests, sys; print(requests.get(sys.argv[1], verify='ca.pem').text)"
FETCH = "fetch(process.argv[1]).then(r => r.text()).then(t => console.log(t))"
SSH = "ssh -F none -i client_key -o IdentitiesOnly=yes -o BatchMode=yes -o HostKeyAlias=git.test -o UserKnownHostsFile=known_hosts"
APT = "apt-get -o Dir::State=$PWD/apt/state -o Dir::Cache=$PWD/apt/cache -o Dir::Etc=$PWD/apt/etc -o Dir::State::status=/dev/null " \
      "-o APT::Sandbox::User= -o Acquire::Languages=none -o Debug::NoLocking=1"


class Program(NamedTuple):
    name: str
    host: str  # of servers.py
    port: str  # its key there
    command: str
    expect: str  # in the output, when it was allowed
    retries: float = 6  # seconds it may take to give up when it is refused


PROGRAMS = [
    Program("curl", "web.test", "https", "curl -sS --cacert ca.pem https://{host}:{port}/hello", "hello from web.test"),
    Program("wget", "web.test", "https", "wget -nv --ca-certificate=ca.pem -O- https://{host}:{port}/hello", "hello from web.test"),
    Program("git over https", "git.test", "https",
            "export GIT_SSL_CAINFO=$PWD/ca.pem; git clone -q https://{host}:{port}/repo.git out && cd out && cat file && "
            "git -c user.name=t -c user.email=t@example.org commit -q --allow-empty -m more && "
            "git push -q origin HEAD:refs/heads/more-$$ && echo pushed", "content\npushed"),
    Program("git over ssh", "git.test", "ssh",
            f"export GIT_SSH_COMMAND='{SSH}'; git clone -q ssh://{{user}}@{{host}}:{{port}}{{place}}/srv/repo.git out && cat out/file",
            "content"),
    Program("npm", "npm.test", "https",
            "npm install --registry https://{host}:{port}/ --cafile ca.pem --cache $PWD/npm --no-audit --no-fund "
            "--no-update-notifier{impatient} tiny-thing && node -p 'require(\"tiny-thing\")'", "42", 20),
    Program("pip", "pip.test", "https",
            "/usr/bin/python3 -m pip install --cert ca.pem --index-url https://{host}:{port}/simple/ --target out --no-cache-dir "
            "--disable-pip-version-check tiny-thing && PYTHONPATH=out /usr/bin/python3 -c 'import tiny_thing; print(tiny_thing.answer)'",
            "42", 40),
    Program("apt", "apt.test", "http",
            "echo 'deb [trusted=yes] http://{host}:{port}/debian ./' >apt/etc/sources.list && " + APT + " update && " + APT +
            " download tiny-thing && dpkg-deb -f tiny-thing_*.deb Package", "tiny-thing\n", 20),
    Program("python urllib", "web.test", "https", f'/usr/bin/python3 -c "{URLLIB}" https://{{host}}:{{port}}/hello', "hello from web.test"),
    Program("python requests", "web.test", "https", f'/usr/bin/python3 -c "{REQUESTS}" https://{{host}}:{{port}}/hello', "hello from web.test"),
    Program("node fetch", "web.test", "https", f"NODE_EXTRA_CA_CERTS=ca.pem node -e '{FETCH}' https://{{host}}:{{port}}/hello", "hello from web.test"),
    Program("java HttpClient", "web.test", "https", "java -Xshare:auto -XX:TieredStopAtLevel=1 Fetch.java https://{host}:{port}/hello",
            "hello from web.test", 30),
    Program("go, static", "web.test", "http", "./fetch {host}:{port}", "hello from web.test"),
    Program("nc", "web.test", "http", "printf 'GET /hello HTTP/1.0\\r\\nHost: web.test\\r\\n\\r\\n' | nc -v -w 20 {host} {port}", "hello from web.test"),
]


def telling(text, host):
    """The line that says most: one that names the host and a cause, else one with a cause, else the last."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = ("resol", "refused", "reset", "connect", "no route", "exception", "error")
    caused = [line for line in lines if any(cause in line.lower() for cause in causes)
              and not line.startswith("at ") and not line.endswith((";", "()"))]
    named = [line for line in caused if host in line]
    return (named or caused or lines or ["(nothing)"])[0 if not named else -1]


def build_go(place):
    """Once for each small internet. Static, with a resolver of its own."""
    source = Path(place, "fetch.go")
    source.write_text(GO)
    env = {**os.environ, "CGO_ENABLED": "0", "GOCACHE": f"{place}/go-cache", "GOPATH": f"{place}/go-path", "GO111MODULE": "off"}
    subprocess.run(["go", "build", "-o", f"{place}/fetch", source], env=env, check=True)


def prepare(directory):
    """What the commands expect in their directory."""
    place = os.environ["HOSTS_WORLD_PLACE"]
    for name in "ca.pem", "client_key", "known_hosts", "fetch":
        shutil.copy(f"{place}/{name}", directory)
    (directory / "Fetch.java").write_text(JAVA)
    for name in "state/lists/partial", "cache/archives/partial", "etc/apt.conf.d", "etc/preferences.d", "etc/sources.list.d", "etc/trusted.gpg.d":
        (directory / "apt" / name).mkdir(parents=True)
    (directory / "package.json").write_text("{}\n")


def command_line(program, host, port, impatient=" --fetch-retry-mintimeout=100 --fetch-retry-maxtimeout=200"):
    """impatient: of npm, which otherwise tries for 70 seconds, whatever the cause."""
    return program.command.format(impatient=impatient, host=host, port=port, user=pwd.getpwuid(os.getuid()).pw_name, place=os.environ["HOSTS_WORLD_PLACE"])
