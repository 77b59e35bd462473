package load

import (
	"bytes"
	"fmt"
	"net"
	"strconv"
	"time"
)

// answerTimeout is longer than any receiver may take; an answer after it counts
// as none.
const answerTimeout = 10 * time.Second

// conn is one kept connection. It reads of an answer what it must: the status
// and where it ends.
type conn struct {
	addr string
	net  net.Conn
	buf  [8 << 10]byte
}

// do sends a request and returns the status of its answer.
func (c *conn) do(request []byte) (int, error) {
	if c.net == nil {
		connected, err := net.Dial("tcp", c.addr)
		if err != nil {
			return 0, err
		}
		c.net = connected
	}
	_ = c.net.SetDeadline(time.Now().Add(answerTimeout)) // a connection that is broken says so at the write
	status, err := c.exchange(request)
	if err != nil {
		c.close()
	}
	return status, err
}

func (c *conn) close() {
	if c.net != nil {
		_ = c.net.Close()
		c.net = nil
	}
}

var (
	endOfHeader   = []byte("\r\n\r\n")
	contentLength = []byte("\r\nContent-Length: ")
	closes        = []byte("\r\nConnection: close")
)

func (c *conn) exchange(request []byte) (int, error) {
	if _, err := c.net.Write(request); err != nil {
		return 0, err
	}
	have, head := 0, -1
	for head < 0 {
		if have == len(c.buf) {
			return 0, fmt.Errorf("the header of an answer is longer than %d bytes", len(c.buf))
		}
		n, err := c.net.Read(c.buf[have:])
		if err != nil {
			return 0, err
		}
		have += n
		head = bytes.Index(c.buf[:have], endOfHeader)
	}
	header := c.buf[:head+2]
	status, err := strconv.Atoi(string(header[len("HTTP/1.1 "):len("HTTP/1.1 200")]))
	if err != nil {
		return 0, fmt.Errorf("no status in %q", header)
	}
	length, err := lengthOf(header)
	if err != nil {
		return 0, err
	}
	for rest := head + len(endOfHeader) + length - have; rest > 0; {
		n, err := c.net.Read(c.buf[:min(rest, len(c.buf))])
		if err != nil {
			return 0, err
		}
		rest -= n
	}
	if bytes.Contains(header, closes) {
		c.close()
	}
	return status, nil
}

func lengthOf(header []byte) (int, error) {
	at := bytes.Index(header, contentLength)
	if at < 0 {
		return 0, fmt.Errorf("an answer without a length: %q", header)
	}
	digits, _, _ := bytes.Cut(header[at+len(contentLength):], endOfHeader[:2])
	return strconv.Atoi(string(digits))
}
