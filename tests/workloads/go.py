# SPDX-License-Identifier: LGPL-2.1-or-later
"""go: a program that takes its module from a proxy of files into ~/go/pkg/mod: vet, build, run, and the module's own tests."""
import zipfile

from driver import counts

PROGRAMS = ("go",)
IDENTITIES = ("user", "root")
MODULE, VERSION = "github.com/spf13/pflag", "v1.0.6"
ENVIRONMENT = {"GOFLAGS": "-p=2", "GONOSUMDB": "*", "GONOSUMCHECK": "1", "GOSUMDB": "off", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}
PROXY = "export GOPROXY=file://$PWD/proxy; cd app && "
STEPS = (PROXY + "go mod tidy", PROXY + "go vet ./... && go build -trimpath -o app . && ./app --count 3",
         PROXY + "go test -v -count=1 -vet=off ./... " + MODULE)  # without vet, which refuses one line of the module's tests
COUNTS = counts.go
MAIN = f"""package main

import (
	"fmt"

	flag "{MODULE}"
)

func repeat(n int) (out []int) {{
	for i := 0; i < n; i++ {{
		out = append(out, i*i)
	}}
	return
}}

func main() {{
	n := flag.Int("count", 1, "how many")
	flag.Parse()
	fmt.Println(repeat(*n))
}}
"""
TEST = """package main

import (
	"os"
	"os/exec"
	"testing"
)

func TestRepeat(t *testing.T) {
	if got := repeat(3); len(got) != 3 || got[2] != 4 {
		t.Fatal(got)
	}
}

func TestFiles(t *testing.T) {
	file := t.TempDir() + "/f"
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cat", file).Output(); err != nil || string(out) != "x" {
		t.Fatal(out, err)
	}
}
"""


def prepare(t):
    t.source("golang-github-spf13-pflag")
    sources = t.project.rename(t.project.parent / "pflag")
    place = t.project / "proxy" / MODULE / "@v"
    place.mkdir(parents=True)
    mod = f"module {MODULE}\n\ngo 1.12\n"
    (place / "list").write_text(VERSION + "\n")
    (place / f"{VERSION}.info").write_text(f'{{"Version": "{VERSION}", "Time": "2026-01-02T03:04:05Z"}}\n')
    (place / f"{VERSION}.mod").write_text(mod)
    with zipfile.ZipFile(place / f"{VERSION}.zip", "w") as archive:
        for file in sorted([*sources.glob("*.go"), sources / "LICENSE"]):
            archive.writestr(f"{MODULE}@{VERSION}/{file.name}", file.read_bytes())
        archive.writestr(f"{MODULE}@{VERSION}/go.mod", mod)
    t.sh(f"rm -r {sources}")
    t.write("app/go.mod", "module example.org/app\n\ngo 1.19\n")
    t.write("app/main.go", MAIN)
    t.write("app/main_test.go", TEST)
