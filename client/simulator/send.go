package simulator

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// Patience is how long WeChat Pay waits for an answer. Alipay does not say.
	Patience = 5 * time.Second
	// maxAnswerBytes is far above any answer to a notification.
	maxAnswerBytes = 64 << 10
	// maxIdle is how many connections are kept for the next messages, as many as a
	// plan can have senders, and idleFor how long: a receiver that closes one just
	// when it is used again would look as if it did not answer.
	maxIdle = 1000
	idleFor = 2 * time.Second
	// askFirstBytes: with a body above it the receiver is asked first. One that
	// refuses it hangs up, and its answer could be lost behind what was sent.
	askFirstBytes = 1 << 20
)

// Sender posts messages to one receiver as providers do: no redirect is
// followed, and what answers too late has not answered.
type Sender struct {
	base   url.URL
	whole  bool // the URL has a path of its own
	client *http.Client
}

// Answer is what a receiver said to a message.
type Answer struct {
	Status int
	Body   []byte
	Took   time.Duration
}

// NewSender makes a sender. to is the URL of a server, to which the path of
// each message is added, or a whole notify URL. No error of a sender shows a
// user, a password or a query, where people keep secrets.
func NewSender(to string) (*Sender, error) {
	u, err := url.Parse(to)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, errors.New("this is not the URL of a server, like http://127.0.0.1:8080")
	case u.User != nil:
		return nil, errors.New("leave out the user and the password: a provider sends none")
	case u.Fragment != "":
		return nil, errors.New("leave out # and what follows it: nobody sends that to a server")
	}
	return &Sender{base: *u, whole: strings.Trim(u.Path, "/") != "", client: &http.Client{
		Timeout:       Patience,
		Transport:     &http.Transport{Proxy: nil, MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: idleFor, DisableCompression: true, ExpectContinueTimeout: time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// URL is where a message goes.
func (s *Sender) URL(m Message) string {
	path, query, _ := strings.Cut(m.Path, "?")
	u := s.base
	if !s.whole {
		u.Path, u.RawPath = "", ""
		u = *u.JoinPath(path)
	}
	if query != "" {
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+query, "&")
	}
	return u.String()
}

// Send posts a message and waits for the answer. An error means that there was
// none.
func (s *Sender) Send(ctx context.Context, m Message) (Answer, error) {
	answer, err := s.send(ctx, m)
	var shows *url.Error // the whole URL
	if errors.As(err, &shows) {
		to := url.URL{Scheme: s.base.Scheme, Host: s.base.Host}
		err = fmt.Errorf("%s: %w", to.String(), shows.Err)
	}
	return answer, err
}

func (s *Sender) send(ctx context.Context, m Message) (Answer, error) {
	r, err := m.Request(ctx, s.URL(m))
	if err != nil {
		return Answer{}, err
	}
	if len(m.Body) > askFirstBytes {
		r.Header.Set("Expect", "100-continue")
	}
	start := time.Now()
	answer, err := s.client.Do(r)
	if err != nil {
		return Answer{Took: time.Since(start)}, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswerBytes))
	return Answer{Status: answer.StatusCode, Body: body, Took: time.Since(start)}, err
}

// CloseIdle lets go of the connections that are kept for the next messages.
func (s *Sender) CloseIdle() { s.client.CloseIdleConnections() }

// Acked says whether the provider takes an answer for a yes and does not send
// the message again. Everything else is a no, whatever it says.
//
// Source: the providers' documents on answers to notifications.
func (p Protocol) Acked(a Answer) bool {
	switch p {
	case WechatV3:
		return a.Status == http.StatusOK || a.Status == http.StatusNoContent
	case WechatV2:
		var answer struct {
			XMLName xml.Name `xml:"xml"`
			Code    string   `xml:"return_code"`
		}
		return a.Status == http.StatusOK && xml.Unmarshal(a.Body, &answer) == nil && answer.Code == "SUCCESS"
	}
	return a.Status == http.StatusOK && string(a.Body) == "success"
}
