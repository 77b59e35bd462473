package play

import (
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Plan says what is played. The tags are the keys of a plan file; DefaultPlan
// has what is left out.
type Plan struct {
	Orders    int      `yaml:"orders"` // how many, at most MaxOrders
	Prefix    string   `yaml:"prefix"` // order numbers begin with it
	Seed      int64    `yaml:"seed"`   // the same seed draws the same orders, amounts and accidents
	AmountFen Range    `yaml:"amount_fen"`
	Accounts  []string `yaml:"accounts"` // empty: all that have test keys
	Protocols Weights  `yaml:"protocols"`

	Senders int   `yaml:"senders"` // how many deliveries are under way at once
	Rate    int   `yaml:"rate"`    // new orders per second of the provider's clock
	Speed   Speed `yaml:"speed"`   // how much faster than ours the provider's clock runs

	Acks     Acks    `yaml:"acks"`
	Twice    Share   `yaml:"twice"`    // of the notices: two senders tell it at the same time
	Disorder Share   `yaml:"disorder"` // of the orders: told from the end to the beginning
	Probes   Share   `yaml:"probes"`   // of the WeChat v3 orders: a probe goes before them
	Pending  Share   `yaml:"pending"`  // of the Alipay orders: WAIT_BUYER_PAY comes first
	Closed   Share   `yaml:"closed"`   // of the Alipay orders: closed without a payment
	Finished Share   `yaml:"finished"` // of the Alipay orders: paid, later finished
	Refunds  Refunds `yaml:"refunds"`

	Retries Retries       `yaml:"retries"`
	Limit   time.Duration `yaml:"limit"` // sending ends after this time, of our clock
}

// Range is a smallest and a largest amount.
type Range struct {
	From int64 `yaml:"from"`
	To   int64 `yaml:"to"`
}

// Weights say how often a protocol is chosen, relative to the others. A protocol
// without keys is never chosen.
type Weights struct {
	WechatV3 int `yaml:"wechat_v3"`
	WechatV2 int `yaml:"wechat_v2"`
	Alipay   int `yaml:"alipay"`
}

// Acks says what happens to the answers on their way back.
type Acks struct {
	Lost Share `yaml:"lost"` // the answer is thrown away
	Slow Share `yaml:"slow"` // no answer within the provider's 5 s: it hangs up
}

// Refunds says how many of the paid orders are refunded.
type Refunds struct {
	Partial Share `yaml:"partial"`
	Full    Share `yaml:"full"` // half of them in two steps
}

// Retries are the pauses between the deliveries of a notice. Nil: the provider's
// own.
type Retries struct {
	Wechat []time.Duration `yaml:"wechat"`
	Alipay []time.Duration `yaml:"alipay"`
}

const (
	// MaxOrders bounds the memory of a run, some 200 bytes for each order.
	MaxOrders = 1_000_000
	// MaxSenders is more than a server takes at once; each holds a connection.
	MaxSenders = 1000
	// maxRetries fits the count of a delivery into a byte.
	maxRetries = 100
	// maxPause is far above any provider's, and keeps sums of them within bounds.
	maxPause  = 30 * 24 * time.Hour
	maxPrefix = 8 // WeChat Pay's order numbers have 32 characters, and the run and the order need theirs
	// maxAmountFen is what the providers take.
	maxAmountFen = 100_000_000_00
	maxWeight    = 1000
	maxRate      = 1_000_000
	// maxSpeed makes a second of ours a year of theirs.
	maxSpeed = 31_536_000

	// whole and mostLost are 100 % and 99 %, with room for how fractions are kept.
	whole    = 1 + 1e-9
	mostLost = 0.99 + 1e-9
)

// DefaultPlan is a plan that names nothing.
func DefaultPlan() Plan {
	return Plan{
		Orders: 1000, Prefix: "SIM", Seed: 1, AmountFen: Range{1, 100_000}, Protocols: Weights{1, 1, 1},
		Senders: 5, Rate: 100, Speed: SkipWaits, Limit: 30 * time.Minute,
	}
}

//go:embed example.yaml
var example string

// Example is a plan file that names every key, with comments.
func Example() string { return example }

// Share is a part of something, from 0 to 1. In a plan file it is a percentage.
type Share float64

// UnmarshalText reads a percentage: "30%", "0.5%".
func (s *Share) UnmarshalText(text []byte) error {
	number, ok := strings.CutSuffix(string(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !ok || err != nil || !(v >= 0 && v <= 100) {
		return errors.New("must be a percentage from 0% to 100%, for instance 30%")
	}
	*s = Share(v / 100)
	return nil
}

// Speed is how many seconds of the provider's clock pass in one of ours.
type Speed int64

// SkipWaits is a clock that stands still while something is to do and jumps to
// whatever comes next.
const SkipWaits Speed = 0

// UnmarshalText reads a whole number, or "max" for SkipWaits.
func (s *Speed) UnmarshalText(text []byte) error {
	if string(text) == "max" {
		*s = SkipWaits
		return nil
	}
	v, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || v < 1 || v > maxSpeed {
		return fmt.Errorf("must be max, or how much faster than ours the provider's clock runs: a whole number from 1 to %d", maxSpeed)
	}
	*s = Speed(v)
	return nil
}

// Problem is something wrong with a plan; Path is the option, "acks.lost".
type Problem struct{ Path, Text string }

var safePrefix = regexp.MustCompile(`^[0-9A-Za-z]{1,` + strconv.Itoa(maxPrefix) + `}$`)

// Check finds everything that is wrong with a plan.
func (p Plan) Check() (problems []Problem) {
	add := func(wrong bool, path, format string, args ...any) {
		if wrong {
			problems = append(problems, Problem{path, fmt.Sprintf(format, args...)})
		}
	}
	between := func(path string, got, least, most int64) {
		add(got < least || got > most, path, "must be from %d to %d", least, most)
	}
	between("orders", int64(p.Orders), 1, MaxOrders)
	between("senders", int64(p.Senders), 1, MaxSenders)
	between("rate", int64(p.Rate), 1, maxRate)
	between("amount_fen.from", p.AmountFen.From, 1, maxAmountFen)
	between("amount_fen.to", p.AmountFen.To, 1, maxAmountFen)
	add(p.AmountFen.From > p.AmountFen.To, "amount_fen.to", "must not be below amount_fen.from")
	add(!safePrefix.MatchString(p.Prefix), "prefix", "must be 1 to %d of 0-9, A-Z and a-z: it begins every order number", maxPrefix)
	between("protocols.wechat_v3", int64(p.Protocols.WechatV3), 0, maxWeight)
	between("protocols.wechat_v2", int64(p.Protocols.WechatV2), 0, maxWeight)
	between("protocols.alipay", int64(p.Protocols.Alipay), 0, maxWeight)
	add(p.Protocols == Weights{}, "protocols", "give at least one protocol a weight above 0")
	add(p.Acks.Lost+p.Acks.Slow > mostLost, "acks", "no ack would ever arrive: lost and slow together may be at most 99%%")
	add(p.Refunds.Partial+p.Refunds.Full > whole, "refunds", "partial and full are more than 100%% together")
	add(p.Closed+p.Finished > whole, "closed", "closed and finished are more than 100%% together")
	add(p.Limit <= 0, "limit", "must be more than 0")
	for path, pauses := range map[string][]time.Duration{"retries.wechat": p.Retries.Wechat, "retries.alipay": p.Retries.Alipay} {
		add(len(pauses) > maxRetries, path, "has %d pauses, at most %d are kept", len(pauses), maxRetries)
		for i, pause := range pauses {
			add(pause < 0 || pause > maxPause, fmt.Sprintf("%s[%d]", path, i), "must be from 0s to %s", maxPause)
		}
	}
	return problems
}
