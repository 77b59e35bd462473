package main

import (
	"strings"

	"github.com/notifyd/notifyd/client/simulator"
)

// listedScenario is a scenario in JSON.
type listedScenario struct {
	Name      string               `json:"name"`
	Line      string               `json:"line"`
	Protocols []simulator.Protocol `json:"protocols"`
	Cases     []string             `json:"cases"`
}

// list prints every scenario with one line each.
func (s *simulate) list() error {
	rows, items := newTable(), []listedScenario{}
	rows.row("SCENARIO\tPROTOCOLS\tCASES\tWHAT HAPPENS")
	for _, c := range simulator.Scenarios() {
		items = append(items, listedScenario{c.Name, c.Line, c.Protocols, append([]string{}, c.Cases...)})
		var protocols []string
		for _, p := range c.Protocols {
			protocols = append(protocols, shortProtocol(p))
		}
		cases := strings.Join(c.Cases, " ")
		rows.row("%s\t%s\t%s\t%s", c.Name, strings.Join(protocols, " "), orDash(&cases), c.Line)
	}
	if s.asJSON {
		return s.printJSON(items)
	}
	return s.print(rows.text())
}

// shortProtocol leaves the table room for what happens.
func shortProtocol(p simulator.Protocol) string {
	return strings.TrimPrefix(string(p), "wechat-")
}
