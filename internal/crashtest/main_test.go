package crashtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// program is the built binary; the tests run nothing else.
type program struct {
	path string
	once sync.Once // builds the hurried one
	err  error
}

var built program

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "notifyd-crashtest-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	built.path = filepath.Join(dir, "notifyd")
	if err := build(built.path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// build makes the program as it is released.
func build(path string, options ...string) error {
	args := append(append([]string{"build", "-o", path}, options...), "github.com/notifyd/notifyd/cmd/notifyd")
	build := exec.Command("go", args...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("the program cannot be built: %w\n%s", err, out)
	}
	return nil
}

// hurried is the program with the times of deliveries, and nothing else, divided:
// what takes a minute takes three seconds.
func (p *program) hurried(t testing.TB) string {
	t.Helper()
	path := p.path + "-hurried"
	p.once.Do(func() { p.err = build(path, "-tags", "hurried") })
	if p.err != nil {
		t.Fatal(p.err)
	}
	return path
}
