package outbox

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestAddresses(t *testing.T) {
	for want, addresses := range map[reach]string{
		public: `1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.1 100.63.255.255 100.128.0.1 126.255.255.255 128.0.0.1 169.253.255.255 169.255.0.1
			172.15.255.255 172.32.0.1 192.167.255.255 192.169.0.1 198.17.255.255 198.20.0.1 203.0.112.255 223.255.255.255 47.100.1.1
			2400:3200::1 2606:4700::1111 2a00:1450::1 ::ffff:1.1.1.1 64:ff9b::101:101 2002:101:101::1`,
		private: `127.0.0.1 127.0.0.2 127.255.255.255 10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 192.168.255.255
			100.64.0.1 100.127.255.255 ::1 fc00::1 fd12:3456::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:7f00:1`,
		never: `0.0.0.0 0.1.2.3 0.255.255.255 :: 169.254.0.1 169.254.169.254 169.254.170.2 fe80::1 fe80::1%eth0 febf::1 fec0::1 100.100.100.200
			168.63.129.16 fd00:ec2::254 224.0.0.1 239.255.255.255 ff02::1 ff0e::1 240.0.0.1 255.255.255.255 192.0.0.1 192.0.0.192 192.88.99.1
			192.0.2.1 198.51.100.1 203.0.113.1 2001:db8::1 3fff::1 198.18.0.1 198.19.255.255 2001:2::1 2001::1 2001:0:7f00:1:: 100::1 5f00::1
			::7f00:1 ::127.0.0.1 ::ffff:0:7f00:1 ::ffff:169.254.169.254 ::ffff:0.0.0.0 64:ff9b::7f00:1 64:ff9b::a00:1 64:ff9b::a9fe:a9fe
			64:ff9b:1::1 64:ff9b::101:101:1 2002:7f00:1:: 2002:a00:1::1 2002:c0a8:1::1 2002:a9fe:a9fe::1 4000::1 8000::1 e000::1`,
	} {
		for _, text := range strings.Fields(addresses) {
			if got, what := judge(netip.MustParseAddr(text)); got != want {
				t.Errorf("%s is judged %d (%s), want %d", text, got, what, want)
			}
		}
	}
}

// inside are URLs that lead to this machine or its neighbours, by whatever
// spelling. Names are answered by a resolver that a stranger holds.
const inside = `http://127.0.0.1:PORT/ http://127.0.0.2:PORT/ http://127.1:PORT/ http://127.0.1:PORT/ http://0x7f000001:PORT/ http://2130706433:PORT/ http://017700000001:PORT/
	http://0177.0.0.1:PORT/ http://0x7f.0.0.1:PORT/ http://127.0.0.1.:PORT/ http://localhost:PORT/ http://LOCALHOST:PORT/ http://localhost.:PORT/ http://localhost.localdomain:PORT/
	http://shop.example:PORT/ http://127.0.0.1.shop.example:PORT/ http://[::1]:PORT/ http://[0:0:0:0:0:0:0:1]:PORT/ http://[::ffff:127.0.0.1]:PORT/ http://[::ffff:7f00:1]:PORT/
	http://10.0.0.1/ http://10.255.255.255/ http://172.16.0.1/ http://172.31.255.255:PORT/ http://192.168.0.1/ http://192.168.1.1:PORT/ http://100.64.0.1/ http://100.127.255.255/
	http://[fc00::1]/ http://[fd12:3456:789a::1]:PORT/`

// forbidden are URLs that lead to what no endpoint is, allow_private or not.
const forbidden = `http://0.0.0.0:PORT/ http://0:PORT/ http://0.0.0.1/ http://[::]:PORT/ http://169.254.169.254/latest/meta-data/ http://169.254.170.2/ http://169.254.0.1:PORT/
	http://[fe80::1%25lo]:PORT/ http://[fe80::1]:PORT/ http://[fec0::1]/ http://100.100.100.200/latest/meta-data/ http://168.63.129.16/ http://[fd00:ec2::254]/
	http://224.0.0.1/ http://239.255.255.250:1900/ http://[ff02::1]/ http://255.255.255.255/ http://240.0.0.1/ http://192.0.0.192/ http://192.0.2.1/ http://198.51.100.1/
	http://203.0.113.1/ http://[2001:db8::1]/ http://198.18.0.1/ http://[64:ff9b::7f00:1]:PORT/ http://[64:ff9b::a9fe:a9fe]/ http://[2002:7f00:1::]/ http://[2002:a9fe:a9fe::1]/
	http://[::127.0.0.1]:PORT/ http://[::ffff:169.254.169.254]/ http://[2001:0:7f00:1::]/ http://metadata.example/ http://user@1.1.1.1/ http://user:secret@shop.example/
	ftp://1.1.1.1/ file:///etc/passwd gopher://127.0.0.1:PORT/ unix:///run/docker.sock http:/// http://:PORT/`

// T32: 60 URLs and more, none of which may lead to a connection.
func TestForbiddenURLs(t *testing.T) {
	trap := newTrap(t)
	urls := func(list string) []string { return strings.Fields(strings.ReplaceAll(list, "PORT", trap.port)) }
	if n := len(urls(inside)) + len(urls(forbidden)); n < 60 {
		t.Errorf("only %d URLs", n)
	}
	try := func(client *http.Client, url string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("{}"))
		if err != nil {
			return // not even a URL
		}
		answer, err := client.Do(r)
		if err == nil {
			_ = answer.Body.Close()
			t.Errorf("%s was called", url)
			return
		}
		var address *ForbiddenAddress
		var name *net.DNSError // numbers that other programs take for addresses are names here, and none that exist
		if !errors.As(err, &address) && !errors.Is(err, errURL) && !errors.As(err, &name) && !strings.Contains(err.Error(), "no Host") {
			t.Errorf("%s: %v, want a refusal of ours", url, err)
		}
	}
	strict := NewClient(false, resolving(t, "127.0.0.1"))
	for _, url := range append(urls(inside), urls(forbidden)...) {
		try(strict, url)
	}
	open := NewClient(true, resolving(t, "169.254.169.254"))
	for _, url := range urls(forbidden) {
		try(open, url)
	}
	if n := trap.connections.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}

	// The trap works: who may, gets in.
	answer, err := NewClient(true, resolving(t, "127.0.0.1")).Post("http://shop.example:"+trap.port+"/", "text/plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if trap.connections.Load() != 1 {
		t.Error("the trap counts no connections")
	}
}

// A name that is public when somebody looks and private when it is called: what
// counts is the address at which the connection is about to be opened.
func TestRebinding(t *testing.T) {
	trap := newTrap(t)
	client := NewClient(false, resolving(t, "127.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.0.1", "100.64.0.1"))
	for range 10 {
		_, err := client.Post("http://rebind.example:"+trap.port+"/", "text/plain", nil)
		var address *ForbiddenAddress
		if !errors.As(err, &address) {
			t.Errorf("%v, want a refusal", err)
		}
	}
	if n := trap.connections.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

// Neither a redirect nor a proxy of the environment leads a call elsewhere.
func TestCallsGoNowhereElse(t *testing.T) {
	trap := newTrap(t)
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:"+trap.port)
	t.Setenv("http_proxy", "http://127.0.0.1:"+trap.port)
	t.Setenv("ALL_PROXY", "http://127.0.0.1:"+trap.port)
	for _, code := range []int{301, 302, 303, 307, 308} {
		server := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://127.0.0.1:"+trap.port+"/")
			w.WriteHeader(code)
		})
		answer, err := NewClient(true, nil).Post(server, "text/plain", strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != code {
			t.Errorf("status %d, want the redirect itself", answer.StatusCode)
		}
	}
	if n := trap.connections.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

// trap is a server on all addresses of this machine that counts who connects.
type trap struct {
	port        string
	connections atomic.Int64
}

func newTrap(t *testing.T) *trap {
	t.Helper()
	listener, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	tr := &trap{}
	_, tr.port, _ = net.SplitHostPort(listener.Addr().String())
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			tr.connections.Add(1)
			_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
			_ = c.Close()
		}
	})
	t.Cleanup(func() { _ = listener.Close(); serving.Wait() })
	return tr
}

func serveHTTP(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() { _ = server.Close(); serving.Wait() })
	return "http://" + listener.Addr().String()
}

// resolving is a resolver that answers every name with the given addresses, one
// after another, over a connection that never leaves the test.
func resolving(t *testing.T, addresses ...string) *net.Resolver {
	t.Helper()
	var asked atomic.Int64
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer func() { _ = theirs.Close() }()
			for { // over a stream each message has its length before it
				var length uint16
				if binary.Read(theirs, binary.BigEndian, &length) != nil {
					return
				}
				question := make([]byte, length)
				if _, err := io.ReadFull(theirs, question); err != nil {
					return
				}
				answer := answerTo(question, func() netip.Addr {
					return netip.MustParseAddr(addresses[int(asked.Add(1)-1)%len(addresses)])
				})
				if _, err := theirs.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
					return
				}
			}
		}()
		return ours, nil
	}}
}

// answerTo is a DNS answer: an IPv4 address, if the question asks for one.
// Source: RFC 1035, section 4.
func answerTo(question []byte, address func() netip.Addr) []byte {
	const headerBytes, typeA = 12, 1
	end := headerBytes
	for question[end] != 0 {
		end += int(question[end]) + 1
	}
	kind := binary.BigEndian.Uint16(question[end+1:])
	asked := question[headerBytes : end+5]
	count := uint16(0)
	if kind == typeA {
		count = 1
	}
	out := append([]byte{}, question[:2]...)
	for _, field := range []uint16{0x8180, 1, count, 0, 0} { // answer, recursion; counts
		out = binary.BigEndian.AppendUint16(out, field)
	}
	out = append(out, asked...)
	if kind == typeA {
		four := address().As4()
		out = append(out, 0xc0, headerBytes) // the name of the question
		out = binary.BigEndian.AppendUint16(out, kind)
		out = append(out, 0, 1, 0, 0, 0, 0) // internet, for no time
		out = binary.BigEndian.AppendUint16(out, uint16(len(four)))
		out = append(out, four[:]...)
	}
	return out
}
