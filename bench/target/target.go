// Package target starts what is measured: notifyd's own binary, the peers and
// the edge without a database, each as a process of its own with its log in a
// file, as it would run under a supervisor.
//
// It imports account, the forge and the standard library.
package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/notifyd/notifyd/bench/account"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

const (
	startPatience = 30 * time.Second
	stopPatience  = 20 * time.Second
)

// Process is a running server.
type Process struct {
	Public  string // host:port
	private string // of notifyd; "" for the others
	cmd     *exec.Cmd
	log     string
	done    chan error
}

// PID is the process's number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Ready is the line by which every server says that it listens.
const Ready = "ready public=%s\n"

var ready = regexp.MustCompile(`ready public=(\S+)(?: private=(\S+))?`)

// Start runs a program in folder and waits until it listens.
func Start(ctx context.Context, folder, program string, args ...string) (*Process, error) {
	p := &Process{cmd: exec.Command(program, args...), log: filepath.Join(folder, "log"), done: make(chan error, 1)}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { p.done <- p.cmd.Wait() }()
	if err := p.await(ctx); err != nil {
		_ = p.cmd.Process.Kill()
		text, _ := os.ReadFile(p.log)
		return nil, fmt.Errorf("%s does not start: %w\n%s", filepath.Base(program), err, text)
	}
	return p, nil
}

func (p *Process) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-p.done:
			return errors.Join(errors.New("it ended"), err)
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		text, err := os.ReadFile(p.log)
		if err != nil {
			return err
		}
		if found := ready.FindStringSubmatch(string(text)); found != nil {
			p.Public, p.private = found[1], found[2]
			return nil
		}
	}
}

// Stop ends the process as a supervisor does.
func (p *Process) Stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-p.done:
		if err != nil {
			text, _ := os.ReadFile(p.log)
			return fmt.Errorf("%s ended with an error: %w\n%s", p.cmd.Path, err, last(string(text), 20))
		}
		return nil
	case <-time.After(stopPatience):
		_ = p.cmd.Process.Kill()
		return fmt.Errorf("%s did not end within %v", p.cmd.Path, stopPatience)
	}
}

func last(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// batchSize is the histogram of notifyd's batches.
const batchSize = "notifyd_commit_batch_size"

// Batches are notifyd's commits so far, and the notifications in them.
type Batches struct{ Commits, Notifications float64 }

// Batches asks notifyd's metrics.
func (p *Process) Batches() (b Batches, err error) {
	answer, err := http.Get("http://" + p.private + "/metrics")
	if err != nil {
		return b, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return b, err
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case batchSize + "_count":
			b.Commits, err = strconv.ParseFloat(value, 64)
		case batchSize + "_sum":
			b.Notifications, err = strconv.ParseFloat(value, 64)
		}
		if err != nil {
			return b, err
		}
	}
	return b, nil
}

// Configure writes notifyd's configuration and key files into folder and returns
// the configuration's path. All but the store, the accounts and the addresses is
// as it comes.
func Configure(folder, store string) (string, error) {
	files := map[string]string{
		"wechat.pem": string(forge.WechatPublicKey.PublicPEM()),
		"alipay.pem": string(forge.AlipayKey.PublicPEM()),
		"notifyd.yaml": fmt.Sprintf(`listen: "127.0.0.1:0"
admin: {listen: "127.0.0.1:0", token: throw-away-token}
store: %q
accounts:
  - name: wechat
    provider: wechat
    mchid: %q
    appids: [%q]
    api_v2_key: %q
    api_v3_key: %q
    public_keys: [{id: %q, file: wechat.pem}]
  - name: alipay
    provider: alipay
    app_id: %q
    seller_id: %q
    public_keys: [{file: alipay.pem}]
`, store, account.MchID, account.AppID, forge.WechatV2Key, forge.WechatV3Key, forge.WechatPublicKeyID, account.AliAppID, account.AliSeller),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	return filepath.Join(folder, "notifyd.yaml"), nil
}
