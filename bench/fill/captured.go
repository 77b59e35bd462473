package fill

import (
	"bytes"
	"strings"
)

// captured are the header lines that notifyd keeps of these requests: all but
// the host.
func captured(request []byte) []byte {
	head, _, _ := bytes.Cut(request, []byte("\r\n\r\n"))
	var kept bytes.Buffer
	for i, line := range strings.Split(string(head), "\r\n") {
		if i > 0 && !strings.HasPrefix(line, "Host: ") {
			kept.WriteString(line + "\r\n")
		}
	}
	return kept.Bytes()
}
