package client

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
)

// maxEventBytes is far above the largest event, which holds one order without
// its lists.
const maxEventBytes = 256 << 10

// Handler takes deliveries: put it at the URL of one of the merchant's endpoints,
// with that endpoint's secrets (several during a rotation). It answers 204 when
// the event is committed or was before, and 500 when the handler failed: then
// notifyd sends it again on its schedule. What is not proven gets 401, whatever
// the cause. The error is [ErrSecret].
func (i *Inbox) Handler(secrets ...string) (http.Handler, error) {
	keys, err := readSecrets(secrets)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "events are sent by POST", http.StatusMethodNotAllowed)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEventBytes))
		if err != nil {
			i.refuse(w, r, http.StatusBadRequest, err)
			return
		}
		e, err := verify(r.Header, body, i.now(), keys)
		switch {
		case errors.Is(err, ErrUnproven):
			i.refuse(w, r, http.StatusUnauthorized, err)
			return
		case err != nil:
			i.refuse(w, r, http.StatusBadRequest, err)
			return
		}
		if _, err := i.Receive(r.Context(), e); err != nil {
			i.refuse(w, r, http.StatusInternalServerError, err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}), nil
}

// refuse tells the log why, and the sender only that.
func (i *Inbox) refuse(w http.ResponseWriter, r *http.Request, status int, err error) {
	i.log.LogAttrs(r.Context(), slog.LevelWarn, "an event was not taken", slog.Int("status", status), slog.Any("err", err))
	http.Error(w, "not taken", status)
}
