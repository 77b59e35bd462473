package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

const adminNotifications = "/admin/v1/notifications"

// server finds out whether the server runs, and whether it can commit.
func (x *examination) server(ctx context.Context) {
	if x.Server == nil {
		x.down = x.NoServer
		x.skip(ServerUp, "", "%s", x.NoServer)
		x.skip(ServerReady, "", "%s", x.down)
		return
	}
	status, _, err := x.Server.Get(ctx, "/healthz", nil)
	switch {
	case err != nil:
		x.down = fmt.Sprintf("the server does not answer at %s", x.Server)
		x.warn(ServerUp, "", "start notifyd serve; if it runs, see whether admin.listen is its private listener", "%v", err)
	case status != http.StatusOK:
		x.down = fmt.Sprintf("%s answered %d, and not as notifyd does", x.Server, status)
		x.warn(ServerUp, "", "see whether admin.listen is the private listener of notifyd", "%s", x.down)
	case x.ours(ctx):
		x.up = true
		x.ok(ServerUp, "", "it answers at %s", x.Server)
		x.ready(ctx)
		return
	}
	x.skip(ServerReady, "", "%s", x.down)
}

// notAccepted is why nothing is believed of a server whose token is another one.
const notAccepted = "the admin API does not accept the token: set admin.token, or give --token-file FILE"

// ours says whether what answers is this installation's private listener. Anybody
// may read /healthz; the token opens one server alone, and another one's word on
// its store and its acks is worth nothing here.
func (x *examination) ours(ctx context.Context) bool {
	status, _, err := x.Server.Get(ctx, adminNotifications, url.Values{"limit": {"1"}})
	switch {
	case err != nil: // a store that hangs; server.ready says so
	case status == http.StatusUnauthorized:
		x.down = notAccepted
		x.fail(ServerUp, "", "see whether the server belongs to this configuration: another installation may hold the port, or the token was changed and the server not started again",
			"%s answers, but it does not accept the token", x.Server)
		return false
	case status == http.StatusNotFound:
		x.down = fmt.Sprintf("%s has no admin API", x.Server)
		x.fail(ServerUp, "", "give the private listener, see the server's line \"notifyd ready\"", "%s answers, but has no admin API: it is the public listener", x.Server)
		return false
	}
	return true
}

// ready asks what the server says about itself: its writes and its keys.
func (x *examination) ready(ctx context.Context) {
	_, body, err := x.Server.Get(ctx, "/readyz", nil)
	var state struct {
		Ready  bool `json:"ready"`
		Checks []struct {
			Name   string `json:"name"`
			OK     bool   `json:"ok"`
			Detail string `json:"detail"`
		} `json:"checks"`
	}
	if err == nil {
		err = json.Unmarshal(body, &state)
	}
	if err != nil {
		x.fail(ServerReady, "", "see the server's log", "/readyz cannot be read: %v", err)
		return
	}
	var wrong []string
	for _, c := range state.Checks {
		if c.Name == "store" {
			x.writes = c.OK
		}
		if !c.OK {
			wrong = append(wrong, c.Name+": "+c.Detail)
		}
	}
	if !state.Ready {
		x.fail(ServerReady, "", "notifications are answered 503 and come again; see the server's log", "not ready: %s", strings.Join(wrong, "; "))
		return
	}
	x.ok(ServerReady, "", "notifications can be taken")
}

// admin asks the admin API for JSON. Its errors are reasons to skip a check.
func (x *examination) admin(ctx context.Context, path string, query url.Values, into any) error {
	body, err := x.adminBytes(ctx, path, query)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("the answer of the admin API cannot be read: %w", err)
	}
	return nil
}

func (x *examination) adminBytes(ctx context.Context, path string, query url.Values) ([]byte, error) {
	if !x.up {
		return nil, fmt.Errorf("%s", x.down)
	}
	status, body, err := x.Server.Get(ctx, path, query)
	switch {
	case err != nil:
		return nil, err
	case status == http.StatusUnauthorized:
		return nil, errors.New(notAccepted)
	case status != http.StatusOK:
		return nil, fmt.Errorf("the admin API answered %d", status)
	}
	return body, nil
}
