package crashtest

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

// T6, and T5's unknown keys: every URL in every message names a listener of
// ours, and it is never called. The list of the process's own connections, looked
// at after each message, holds none that it has opened.
func TestT6NothingIsFetched(t *testing.T) {
	trap, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer trap.Close()
	var called atomic.Int64
	go func() {
		for {
			conn, err := trap.Accept()
			if err != nil {
				return
			}
			called.Add(1)
			conn.Close()
		}
	}()
	p := newShop(t, "sqlite:n.db", "").start(t)
	client := newClient(t)
	target := "http://" + trap.Addr().String() + "/key"
	for name, m := range luring(target) {
		account, _, _ := strings.Cut(name, " ")
		a := post(client, p.public+"/notify/"+account, m)
		if a.err != nil || a.status == http.StatusServiceUnavailable {
			t.Errorf("%s: %s", name, a)
		}
		if out := p.dialled(); len(out) > 0 {
			t.Errorf("%s: the process has opened a connection to %v", name, out)
		}
	}
	p.stop(t)
	// A connection that waits in the listener's queue counts as well: it would
	// be taken before ours.
	own, err := net.DialTimeout("tcp", trap.Addr().String(), patience)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	_ = own.SetDeadline(soon())
	_, _ = own.Read(make([]byte, 1)) // ends when ours was taken
	if n := called.Load(); n != 1 {
		t.Errorf("%d connections were made to the URLs of the messages", n-1)
	}
}

// luring are messages that name a URL wherever one could be followed.
func luring(target string) map[string]forge.Message {
	now := time.Now()
	all := map[string]forge.Message{}
	for n := range 50 {
		unknown := forge.WechatV3Signer{Key: forge.StrangerKey, Serial: fmt.Sprintf("%040X", n+1)}
		all[fmt.Sprint("wechat unknown serial ", n)] = unknown.Sign(payment{v3, "U1", 1}.envelope(), now)
	}
	id := forge.WechatV3Signer{Key: forge.StrangerKey, Serial: "PUB_KEY_ID_" + target}
	all["wechat serial"] = id.Sign(payment{v3, "U1", 1}.envelope(), now)
	urls := forge.NewForm("alipay_root_cert_url", target, "alipay_cert_url", target, "cert_url", target, "notify_url", target, "SubscribeURL", target)
	form := append(payment{ali, "U2", 1}.alipay().Form(), urls...)
	all["alipay genuine"] = forge.AlipaySigner{}.Sign(form)
	all["alipay forged"] = forge.AlipaySigner{Key: forge.StrangerKey}.Sign(form.With("alipay_cert_sn", "00000000000000000000000000000000"))
	w := payment{v2, "U3", 1}.wechat()
	w.Attach = target
	all["wechat v2"] = forge.WechatV2Signer{}.Sign(w.V2())
	for _, head := range []string{
		`<!DOCTYPE xml SYSTEM "%s">`, `<!DOCTYPE xml [<!ENTITY e SYSTEM "%s">]>`, `<!DOCTYPE xml [<!ENTITY %% e SYSTEM "%s"> %%e;]>`, `<?xml-stylesheet href="%s"?>`,
	} {
		all["wechat v2 "+head] = forge.SendXML(append(fmt.Appendf(nil, head, target), w.V2().XML("xml")...))
	}
	include := `<xml xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="` + target + `"/></xml>`
	all["wechat v2 include"] = forge.SendXML([]byte(include))
	return all
}

// dialled are the remote ends of the process's own connections that were not
// made to one of its listeners, by the kernel's tables. Where there are no such
// tables, the trap alone speaks.
func (p *instance) dialled() (remote []string) {
	proc := fmt.Sprintf("/proc/%d", p.cmd.Process.Pid)
	files, _ := filepath.Glob(proc + "/fd/*")
	own := map[string]bool{}
	for _, file := range files {
		name, _ := os.Readlink(file) // one that was closed meanwhile is none
		if inode, isSocket := strings.CutPrefix(name, "socket:["); isSocket {
			own[strings.TrimSuffix(inode, "]")] = true
		}
	}
	listeners := map[string]bool{}
	for _, url := range []string{p.public, p.private} {
		port, _ := strconv.Atoi(url[strings.LastIndexByte(url, ':')+1:])
		listeners[fmt.Sprintf("%04X", port)] = true
	}
	for _, table := range []string{"/net/tcp", "/net/tcp6", "/net/udp", "/net/udp6"} {
		text, _ := os.ReadFile(proc + table)
		for line := range strings.Lines(string(text)) {
			const local, far, inode = 1, 2, 9
			f := strings.Fields(line)
			if len(f) > inode && own[f[inode]] && !listeners[f[local][strings.IndexByte(f[local], ':')+1:]] {
				remote = append(remote, f[far])
			}
		}
	}
	return remote
}
