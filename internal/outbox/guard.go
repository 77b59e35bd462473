package outbox

import (
	"fmt"
	"net/netip"
	"slices"
)

// reach says who may be called at an address.
type reach int

const (
	public  reach = iota
	private       // only where the endpoint allows it
	never
)

// prefix is a range of addresses and what stands behind it.
type prefix struct {
	netip.Prefix
	what string
}

func ranges(what string, texts ...string) []prefix {
	var all []prefix
	for _, s := range texts {
		all = append(all, prefix{netip.MustParsePrefix(s), what})
	}
	return all
}

// neverRanges are not places of a shop, whatever a name or a merchant says.
// Source: the IANA special-purpose address registries, and the addresses at
// which clouds tell a machine its own secrets.
var neverRanges = slices.Concat(
	ranges("this host", "0.0.0.0/8", "::/128"),
	ranges("a link-local address", "169.254.0.0/16", "fe80::/10", "fec0::/10"),
	ranges("a cloud's metadata", "100.100.100.200/32", "168.63.129.16/32", "fd00:ec2::/32"),
	ranges("a multicast address", "224.0.0.0/4", "ff00::/8"),
	ranges("a broadcast or reserved address", "240.0.0.0/4"),
	ranges("a protocol's own address", "192.0.0.0/24", "192.88.99.0/24", "2001::/23", "100::/63", "5f00::/16"),
	ranges("a documentation address", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"),
	ranges("a benchmarking address", "198.18.0.0/15", "2001:2::/48"),
)

var privateRanges = slices.Concat(
	ranges("a loopback address", "127.0.0.0/8", "::1/128"),
	ranges("a private address", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"),
	ranges("a carrier's shared address", "100.64.0.0/10"),
)

// embedding are ranges of IPv6 whose addresses lead to an IPv4 address within
// them, at this byte. They lead nowhere but to public ones.
var embedding = []struct {
	netip.Prefix
	at int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, // NAT64, RFC 6052
	{netip.MustParsePrefix("2002::/16"), 2},     // 6to4, RFC 3056
}

// global is what IPv6 gives to the world; all the rest is not for endpoints.
var global = netip.MustParsePrefix("2000::/3")

// judge says who may be called at an address, and what it is.
func judge(a netip.Addr) (reach, string) {
	a = a.WithZone("").Unmap() // ::ffff:127.0.0.1 is 127.0.0.1
	for _, p := range neverRanges {
		if p.Contains(a) {
			return never, p.what
		}
	}
	for _, p := range privateRanges {
		if p.Contains(a) {
			return private, p.what
		}
	}
	if a.Is4() {
		return public, ""
	}
	for _, e := range embedding {
		if e.Contains(a) {
			bytes := a.As16()
			inner := netip.AddrFrom4([4]byte(bytes[e.at : e.at+4]))
			if who, what := judge(inner); who != public {
				return never, what + " inside an IPv6 address"
			}
			return public, ""
		}
	}
	if !global.Contains(a) {
		return never, "no public address"
	}
	return public, ""
}

// ForbiddenAddress is the error of a call that was about to go where no call may
// go. No connection was made.
type ForbiddenAddress struct {
	Address netip.Addr
	What    string
	Private bool // the endpoint's allow_private would let it through
}

func (e *ForbiddenAddress) Error() string {
	text := fmt.Sprintf("%s is %s: calls to it are refused", e.Address, e.What)
	if e.Private {
		text += " unless the endpoint sets allow_private"
	}
	return text
}

// check is an error when an address must not be called.
func check(a netip.Addr, allowPrivate bool) error {
	who, what := judge(a)
	if who == never || who == private && !allowPrivate {
		return &ForbiddenAddress{Address: a, What: what, Private: who == private}
	}
	return nil
}
