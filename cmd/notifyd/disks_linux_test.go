package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// ownDisk tells the process in which a test goes on where it may mount a disk.
const ownDisk = "NOTIFYD_TEST_DISK"

// A disk that is full, one that is mounted read-only and one that is memory are
// found on a real one: a small file system in memory, which nobody but the test
// sees. Where the system lets no user mount anything, the numbers that it would
// give are tested beside statfs alone.
func TestDoctorOnARealDisk(t *testing.T) {
	disk := os.Getenv(ownDisk)
	if disk == "" {
		goOnWithAnOwnDisk(t)
		return
	}
	err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=24m,mode=0700")
	if errors.Is(err, fs.ErrPermission) {
		t.Logf("nothing can be mounted here: %v", err)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", disk)
	c := admit(t, illness{noServer: true})
	c.disk = nil
	finds := func(check, begins string) {
		t.Helper()
		code, r := c.doctor(t)
		if got := strings.Join(linesOf(r, check), "\n"); code != exitUnhealthy || !strings.HasPrefix(got, begins) {
			t.Errorf("exit code %d, %s: %q, want %q …", code, check, got, begins)
		}
	}
	finds("store.writable", "ok :")
	finds("store.durability", "warn : disk is memory: "+disk)

	filler := filepath.Join(disk, "filler")
	fill(t, filler, 1<<20)
	finds("store.space", "fail : "+c.dir+" has ")
	finds("store.integrity", "ok :")
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	remount := func(flags uintptr) {
		t.Helper()
		if err := unix.Mount("", disk, "", unix.MS_REMOUNT|flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	remount(unix.MS_RDONLY)
	defer remount(0) // the test's folder is removed
	finds("store.writable", "fail : the file system of ")
	finds("store.integrity", "ok :")
}

// goOnWithAnOwnDisk runs the test once more in a process that may mount.
func goOnWithAnOwnDisk(t *testing.T) {
	t.Helper()
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	again.Env = append(os.Environ(), ownDisk+"="+t.TempDir())
	self := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	group := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	again.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS, UidMappings: self, GidMappings: group}
	said, err := again.CombinedOutput()
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		t.Errorf("%v\n%s", err, said)
	case err != nil: // it was not even started
		t.Logf("nothing can be mounted here: %v", err)
	}
}

// fill writes a file until no more than that much is free.
func fill(t *testing.T, path string, left int64) {
	t.Helper()
	var stat unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(path), &stat); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(path)
	if err == nil {
		err = unix.Fallocate(int(file.Fd()), 0, 0, int64(stat.Bavail)*int64(stat.Bsize)-left)
	}
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}
