package simulator_test

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/notifyd/notifyd/client/simulator"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
)

// told is every scenario in every protocol that has it.
func told(t *testing.T, each func(t *testing.T, s *simulator.Simulator, c simulator.Scenario, story simulator.Story)) {
	for _, p := range simulator.Protocols() {
		s := newSimulator(t, p)
		for _, c := range simulator.Scenarios() {
			if !slices.Contains(c.Protocols, p) {
				continue
			}
			t.Run(string(p)+" "+c.Name, func(t *testing.T) {
				story, err := s.Tell(c, simulator.Order{OutTradeNo: "T1", AmountFen: 1000, PaidAt: noon})
				if err != nil {
					t.Fatal(err)
				}
				each(t, s, c, story)
			})
		}
	}
}

// Every message of every scenario is taken or refused by the account's adapter
// as the scenario says, and for the reason that it says.
func TestScenariosEndAsTheySay(t *testing.T) {
	told(t, func(t *testing.T, s *simulator.Simulator, c simulator.Scenario, story simulator.Story) {
		r := receiver(t, s.Protocol(), s.Account(), keysFor(t))
		if len(story.Steps) == 0 {
			t.Fatal("nothing is told")
		}
		for _, step := range story.Steps {
			if strings.HasPrefix(step.Want.Code, "edge.") {
				continue // refused before an adapter is asked
			}
			n, err := parse(r, step.Notification.At(noon))
			if got := provider.Code(err); got != step.Want.Code || (err == nil) != step.Want.Acked {
				t.Errorf("%s: %v, want %q", step.What, err, step.Want.Code)
				continue
			}
			if err == nil && step.Want.Reason != "" && step.Want.Reason != string(n.Facts[0].Conflict) && decidedAlone(step.Want.Reason) {
				t.Errorf("%s: %s, want the conflict %s", step.What, n.Facts[0].Conflict, step.Want.Reason)
			}
			if err == nil && step.Want.Outcome == string(order.Unhandled) == n.Facts[0].Kind.Moves() {
				t.Errorf("%s: %s, want %s", step.What, said(n), step.Want.Outcome)
			}
		}
	})
}

// decidedAlone says whether a conflict shows in the message itself.
func decidedAlone(reason string) bool {
	return reason == string(order.ReasonUnreadableField) || reason == string(order.ReasonAmbiguousText)
}

// What a scenario makes is the same each time: nothing in it is left to chance.
func TestScenariosAreReproducible(t *testing.T) {
	told(t, func(t *testing.T, s *simulator.Simulator, c simulator.Scenario, story simulator.Story) {
		again, err := s.Tell(c, simulator.Order{OutTradeNo: "T1", AmountFen: 1000, PaidAt: noon})
		if err != nil {
			t.Fatal(err)
		}
		for i, step := range story.Steps {
			if a, b := step.Notification.At(noon), again.Steps[i].Notification.At(noon); string(a.Body) != string(b.Body) {
				t.Errorf("%s: two bodies", step.What)
			}
		}
	})
}

var lineForm = regexp.MustCompile(`^[^\n]{10,94}[^.\n]$`)

func TestScenarioList(t *testing.T) {
	cases := fieldCases(t)
	seen := map[string]bool{}
	for _, c := range simulator.Scenarios() {
		if seen[c.Name] || !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(c.Name) {
			t.Errorf("the name %q", c.Name)
		}
		seen[c.Name] = true
		if !lineForm.MatchString(c.Line) || len(c.Protocols) == 0 {
			t.Errorf("%s: %q in %v", c.Name, c.Line, c.Protocols)
		}
		for _, number := range c.Cases {
			if !cases[number] {
				t.Errorf("%s: there is no field case %s", c.Name, number)
			}
		}
		if found, ok := simulator.ScenarioNamed(c.Name); !ok || found.Line != c.Line {
			t.Errorf("%s is not found by its name", c.Name)
		}
	}
	if _, ok := simulator.ScenarioNamed("nobody"); ok {
		t.Error("a scenario is found that does not exist")
	}
	for number := range cases {
		if !slices.ContainsFunc(simulator.Scenarios(), func(c simulator.Scenario) bool { return slices.Contains(c.Cases, number) }) && noMessage[number] == "" {
			t.Errorf("field case %s is no scenario", number)
		}
	}
}

// noMessage are the field cases that no message can show.
var noMessage = map[string]string{
	"P42": "is about answers",
	"P43": "is about a slow back end",
	"P44": "is about what stands in front, and about GET",
	"P47": "is about a message that does not come",
}

var caseRow = regexp.MustCompile(`(?m)^\| (P[0-9]+) \|`)

func fieldCases(t *testing.T) map[string]bool {
	text, err := os.ReadFile("../../docs/field-cases.md")
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[string]bool{}
	for _, found := range caseRow.FindAllStringSubmatch(string(text), -1) {
		numbers[found[1]] = true
	}
	if len(numbers) < 30 {
		t.Fatalf("%d field cases are read", len(numbers))
	}
	return numbers
}

func TestScenariosThatCannotBeTold(t *testing.T) {
	o := simulator.Order{OutTradeNo: "T1", AmountFen: 1000, PaidAt: noon}
	poor := testAccount()
	poor.SubMchIDs, poor.AuthAppIDs, poor.AESKey = nil, nil, ""
	rich := testAccount()
	rich.SubMchIDs = []string{"*"}
	for _, c := range []struct {
		name    string
		p       simulator.Protocol
		account simulator.Account
		order   simulator.Order
		want    string
	}{
		{"combined", simulator.Alipay, testAccount(), o, "combined: it (alipay): the provider never sends this"},
		{"partner", simulator.WechatV3, poor, o, "names no sub-merchant"},
		{"partner", simulator.Alipay, poor, o, "names no sub-merchant"},
		{"wrong-sub-merchant", simulator.WechatV3, rich, o, "accepts every sub-merchant"},
		{"encrypted-message", simulator.Alipay, poor, o, "has no aes_key"},
		{"payment", simulator.WechatV3, testAccount(), simulator.Order{AmountFen: 1000}, "has no number"},
		{"payment", simulator.WechatV3, testAccount(), simulator.Order{OutTradeNo: "T1", AmountFen: 9}, "at least 10 fen, not 9"},
	} {
		s, err := simulator.New(c.p, c.account, keysFor(t))
		if err != nil {
			t.Fatal(err)
		}
		scenario, ok := simulator.ScenarioNamed(c.name)
		if !ok {
			t.Fatal(c.name)
		}
		if _, err := s.Tell(scenario, c.order); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	scenario, _ := simulator.ScenarioNamed("combined")
	if _, err := newSimulator(t, simulator.Alipay).Tell(scenario, o); !errors.Is(err, simulator.ErrNever) {
		t.Errorf("%v", err)
	}
}
