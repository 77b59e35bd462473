package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/notifyd/notifyd/internal/order"
)

// Metrics are what the process counts about itself, in a registry of their own.
// Labels hold configured names and words of closed lists only, so strangers
// cannot make new series.
type Metrics struct {
	registry *prometheus.Registry

	notifications *prometheus.CounterVec
	refusals      *prometheus.CounterVec
	kept          *prometheus.CounterVec
	alarms        *prometheus.CounterVec
	events        *prometheus.CounterVec
	ackSeconds    prometheus.Histogram
	batchSize     prometheus.Histogram
	panics        prometheus.Counter
}

// NewMetrics makes the metrics of one process; version is the program's.
func NewMetrics(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		notifications: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "notifyd_notifications_total",
			Help: "Notifications by verdict (accepted, refused, unavailable) and, when accepted, by what they did."},
			[]string{"account", "verdict", "outcome"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "notifyd_refusals_total",
			Help: "Notifications that were not accepted, by reason code."}, []string{"account", "code"}),
		kept: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "notifyd_refusals_kept_total",
			Help: "What became of refused requests that were to be kept for diagnosis: kept, limited (a flood of one code), dropped (too much waited) or lost (the store did not take them)."},
			[]string{"result"}),
		alarms: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "notifyd_alarms_total",
			Help: "What a person should look at, by reason: each has an ERROR line in the log."}, []string{"reason"}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "notifyd_events_total",
			Help: "Events committed, by type."}, []string{"type"}),
		ackSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "notifyd_ack_seconds",
			Help:    "Time from the request's header to the ack, of accepted notifications.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2, 3, 4, 5}}),
		batchSize: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "notifyd_commit_batch_size",
			Help:    "Notifications in one commit.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128}}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{Name: "notifyd_panics_total",
			Help: "Panics that were caught while a request was handled."}),
	}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "notifyd_build_info",
		Help: "Always 1; the labels say which build this is."}, []string{"version", "go"})
	build.WithLabelValues(version, runtime.Version()).Set(1)
	m.registry.MustRegister(m.notifications, m.refusals, m.kept, m.alarms, m.events, m.ackSeconds, m.batchSize, m.panics, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Queue shows the recorder's queue; length is asked whenever the metrics are read.
func (m *Metrics) Queue(length func() int) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "notifyd_queue_length",
		Help: "Notifications that wait for a commit."}, func() float64 { return float64(length()) }))
}

// RefusalsKept counts what became of refused requests; the result is one of
// refusal.Results.
func (m *Metrics) RefusalsKept(result string, n int) { m.kept.WithLabelValues(result).Add(float64(n)) }

// Batch counts one commit of size notifications.
func (m *Metrics) Batch(size int) { m.batchSize.Observe(float64(size)) }

// Committed counts events that are durable and raises an alarm for each
// conflict, whatever brought it about: a notification, or a registration that
// differs from what had been paid.
func (m *Metrics) Committed(log *slog.Logger, events []order.Event) {
	for i := range events {
		e := &events[i]
		m.events.WithLabelValues(string(e.Type)).Inc()
		if e.Type != order.EventConflict {
			continue
		}
		m.alarms.WithLabelValues(string(e.Reason)).Inc()
		log.LogAttrs(context.Background(), slog.LevelError, "alarm",
			slog.String("reason", string(e.Reason)), slog.String("merchant", e.Key.Merchant),
			slog.String("out_trade_no", claim(e.Key.OutTradeNo)), slog.String("kind", string(e.Kind)),
			slog.String("event_id", e.ID), slog.String("notification_id", e.NotificationID))
	}
}

func (m *Metrics) acked(took time.Duration) { m.ackSeconds.Observe(took.Seconds()) }

func (m *Metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
