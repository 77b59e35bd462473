package httpapi

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/notifyd/notifyd/internal/outbox"
)

// Reasons of alarms about deliveries.
const (
	alarmGone      = "endpoint_gone"
	alarmExhausted = "delivery_exhausted"
)

// DeliveryMetrics are what the process counts about deliveries, and the log
// lines that go with them.
type DeliveryMetrics struct {
	alarms    *prometheus.CounterVec
	attempts  *prometheus.CounterVec
	pending   *prometheus.GaugeVec
	oldest    *prometheus.GaugeVec
	log       *slog.Logger
	endpoints []string
}

// Deliveries adds the metrics of deliveries at the configured endpoints.
func (m *Metrics) Deliveries(log *slog.Logger, endpoints []string) *DeliveryMetrics {
	d := &DeliveryMetrics{alarms: m.alarms, log: log, endpoints: endpoints,
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "notifyd_delivery_attempts_total",
			Help: "Deliveries attempted by this instance, by the class of the answer's status or why there was no answer."}, []string{"endpoint", "result"}),
		pending: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "notifyd_delivery_pending",
			Help: "Deliveries that wait at an endpoint, those of all instances."}, []string{"endpoint"}),
		oldest: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "notifyd_delivery_oldest_seconds",
			Help: "Age of the oldest delivery that waits at an endpoint."}, []string{"endpoint"}),
	}
	m.registry.MustRegister(d.attempts, d.pending, d.oldest)
	d.Backlogs(nil, time.Time{})
	return d
}

// Attempted counts an attempt and writes its line; a delivery that is given up
// raises an alarm.
func (m *DeliveryMetrics) Attempted(d outbox.Delivery, a outbox.Attempt, state outbox.State) {
	result := a.Failure
	if result == "" {
		result = strconv.Itoa(a.StatusCode/100) + "xx"
	}
	m.attempts.WithLabelValues(d.Endpoint, result).Inc()
	level := slog.LevelInfo
	if state != outbox.Delivered {
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{slog.String("endpoint", d.Endpoint), slog.String("event_id", d.EventID), slog.String("attempt_id", a.ID),
		slog.String("merchant", d.Merchant), slog.String("out_trade_no", claim(d.OutTradeNo)), slog.Int("attempt", a.Number),
		slog.Int("status", a.StatusCode), slog.String("failure", a.Failure), slog.String("state", string(state)),
		slog.Int64("duration_us", a.Duration.Microseconds())}
	m.log.LogAttrs(context.Background(), level, "delivery", attrs...)
	if state == outbox.Exhausted {
		m.alarm(alarmExhausted, attrs[:5]...)
	}
}

// Paused raises the alarm of an endpoint that wants no more.
func (m *DeliveryMetrics) Paused(p outbox.Pause) {
	m.alarm(alarmGone, slog.String("endpoint", p.Endpoint), slog.String("detail", p.Reason))
}

func (m *DeliveryMetrics) alarm(reason string, attrs ...slog.Attr) {
	m.alarms.WithLabelValues(reason).Inc()
	m.log.LogAttrs(context.Background(), slog.LevelError, "alarm", append([]slog.Attr{slog.String("reason", reason)}, attrs...)...)
}

// Backlogs shows what waits.
func (m *DeliveryMetrics) Backlogs(backlogs []outbox.Backlog, now time.Time) {
	waiting := map[string]outbox.Backlog{}
	for _, b := range backlogs {
		waiting[b.Endpoint] = b
	}
	for _, name := range m.endpoints {
		b := waiting[name]
		m.pending.WithLabelValues(name).Set(float64(b.Pending))
		age := 0.0
		if !b.OldestAt.IsZero() {
			age = max(0, now.Sub(b.OldestAt).Seconds())
		}
		m.oldest.WithLabelValues(name).Set(age)
	}
}
