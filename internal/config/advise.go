package config

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// adviseAdmin warns about a private listener that others can reach. In a
// container it may have to listen everywhere, so that it is no fault.
func (c *Config) adviseAdmin(report *Report) {
	name, _, err := net.SplitHostPort(c.Admin.Listen)
	if err != nil {
		return // reported
	}
	host, err := netip.ParseAddr(name)
	switch host = host.Unmap(); {
	case name == "" || err == nil && host.IsUnspecified():
		report.Warn(c.Finding("admin.listen", "every network of this machine reaches the private listener here: name 127.0.0.1 or a private address, or let a firewall keep it from the internet"))
	case err == nil && !host.IsPrivate() && !host.IsLoopback() && !host.IsLinkLocalUnicast():
		report.Warn(c.Finding("admin.listen", "this is an address of the internet, and the private listener is to be kept away from it"))
	}
}

// adviseEndpoint warns about an endpoint that is allowed and will not do.
func (c *Config) adviseEndpoint(e Endpoint, path string, report *Report) {
	if len(e.Events) == 0 {
		report.Warn(c.Finding(path+".events", "the list is empty: nothing is delivered here"))
	}
	for i, s := range e.Secrets {
		if key, err := SigningKey(s); err == nil && len(key) < wiseSigningBytes {
			report.Warn(c.Finding(at(path+".secrets", i), "holds less than 24 bytes; better: echo whsec_$(openssl rand -base64 32)"))
		}
	}
	u, err := url.Parse(e.URL)
	if err != nil {
		return
	}
	host, err := netip.ParseAddr(u.Hostname())
	if err != nil && !strings.EqualFold(u.Hostname(), "localhost") {
		return // a name: only a connection shows where it leads
	}
	switch private := err != nil || host.IsPrivate() || host.IsLoopback(); {
	case err == nil && (host.IsLinkLocalUnicast() || host.IsMulticast() || host.IsUnspecified()):
		report.Warn(c.Finding(path+".url", "no delivery goes to such an address (link-local, multicast, 0/8), whatever is allowed"))
	case private && !e.AllowPrivate:
		report.Warn(c.Finding(path+".url", "a private or loopback address gets no deliveries unless the endpoint says allow_private: true"))
	}
}
