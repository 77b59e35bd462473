package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"time"

	"github.com/notifyd/notifyd/client/simulator"
	"github.com/notifyd/notifyd/internal/config"
)

// demoShop is the running server, seen from outside.
type demoShop struct {
	public, private string
	token           config.Secret
	http            *http.Client
	admin           *adminClient
}

func newDemoShop(at demoAddresses, token config.Secret) *demoShop {
	return &demoShop{public: at.public, private: at.private, token: token,
		http:  &http.Client{Timeout: askTimeout, Transport: &http.Transport{Proxy: nil}},
		admin: newAdminClient("http://"+at.private, token)}
}

// demoVerdict is what the server's own log says of a notification: the sender
// is told less.
type demoVerdict struct {
	Verdict string `json:"verdict"`
	Outcome string `json:"outcome"`
	Reason  string `json:"reason"`
	Repeat  bool   `json:"repeat"`
	ID      string `json:"notification_id"`
	Request string `json:"request_id_claim"`
}

// demoLog is where the server logs to: a file, and whoever waits for a line.
type demoLog struct {
	file  io.Writer
	lines chan demoVerdict
}

func newDemoLog(file io.Writer) *demoLog {
	const enough = 16 // the demo sends one at a time
	return &demoLog{file, make(chan demoVerdict, enough)}
}

// Write is given one line at a time.
func (l *demoLog) Write(line []byte) (int, error) {
	var v demoVerdict
	if json.Unmarshal(line, &v) == nil && v.Request != "" {
		select {
		case l.lines <- v:
		default: // nobody waits: somebody tries it with a request of their own
		}
	}
	return l.file.Write(line)
}

// of waits for the line of a request.
func (l *demoLog) of(ctx context.Context, request string) (demoVerdict, error) {
	late := time.NewTimer(askTimeout)
	defer late.Stop()
	for {
		select {
		case v := <-l.lines:
			if v.Request == request {
				return v, nil
			}
		case <-late.C:
			return demoVerdict{}, fmt.Errorf("the server did not log request %s", request)
		case <-ctx.Done():
			return demoVerdict{}, ctx.Err()
		}
	}
}

// post sends a message as its provider would.
func (s *demoShop) post(ctx context.Context, request string, m simulator.Message) (status int, body []byte, err error) {
	r, err := m.Request(ctx, "http://"+s.public+m.Path)
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Request-Id", request) // WeChat Pay sends one as well
	answer, err := s.http.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(io.LimitReader(answer.Body, maxAnswerBytes))
	return answer.StatusCode, body, err
}

var ackWords = regexp.MustCompile(`SUCCESS|FAIL|success|failure`)

// ackWord is the word of an answer that the provider goes by, whatever is
// around it.
func ackWord(body []byte) string { return string(ackWords.Find(body)) }
