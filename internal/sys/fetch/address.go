package fetch

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// networks are the private networks that the site allows.
type networks []netip.Prefix

// networksOf parses networks such as "10.1.0.0/16".
func networksOf(texts []string) (networks, error) {
	var out networks
	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("network %.60q: %w", text, err)
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

// special lists ranges of addresses outside the public internet, with descriptions: the special-purpose ranges of IANA
// (RFC 6890), and the metadata address of a cloud, which is not in IANA's registries.
var special = []struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "this host"},
	{netip.MustParsePrefix("100.64.0.0/10"), "behind a carrier's NAT"},
	{netip.MustParsePrefix("168.63.129.16/32"), "a cloud's own service"},
	{netip.MustParsePrefix("192.0.0.0/24"), "reserved"},
	{netip.MustParsePrefix("192.0.2.0/24"), "reserved"},
	{netip.MustParsePrefix("192.88.99.0/24"), "reserved"},
	{netip.MustParsePrefix("198.18.0.0/15"), "reserved"},
	{netip.MustParsePrefix("198.51.100.0/24"), "reserved"},
	{netip.MustParsePrefix("203.0.113.0/24"), "reserved"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},
	{netip.MustParsePrefix("::/96"), "reserved"}, // IPv4-compatible addresses, and ::1
	{netip.MustParsePrefix("64:ff9b:1::/48"), "private"},
	{netip.MustParsePrefix("100::/64"), "reserved"},
	{netip.MustParsePrefix("2001::/23"), "reserved"}, // including Teredo, ORCHID and benchmarks
	{netip.MustParsePrefix("2001:db8::/32"), "reserved"},
	{netip.MustParsePrefix("3fff::/20"), "reserved"},
	{netip.MustParsePrefix("5f00::/16"), "reserved"},
	{netip.MustParsePrefix("fec0::/10"), "private"},
}

// The prefixes of IPv6 addresses that contain an IPv4 address: NAT64 (RFC 6052) in the last four bytes, 6to4 (RFC 3056)
// after the prefix.
var (
	nat64  = netip.MustParsePrefix("64:ff9b::/96")
	sixTo4 = netip.MustParsePrefix("2002::/16")
)

// allows returns nil for a public address and for an address in one of the networks, and a [refusal] for any other
// address.
func (ns networks) allows(a netip.Addr) error {
	plain := a.Unmap().WithZone("")
	for _, n := range ns {
		if n.Contains(plain) {
			return nil
		}
	}
	what := notPublic(plain)
	if what == "" {
		return nil
	}
	return &refusal{fmt.Sprintf("%s is not a public address (%s): this site contacts only public addresses, and the "+
		"networks that its administrators list in engine.fetch.networks", plain, what)}
}

// notPublic returns a description of an address that is not public, "" for a public address.
func notPublic(a netip.Addr) string {
	switch {
	case a.IsLoopback():
		return "this host"
	case a.IsUnspecified():
		return "this host"
	case a.IsLinkLocalUnicast():
		return "link-local, as clouds' own services"
	case a.IsMulticast():
		return "multicast"
	case a.IsPrivate():
		return "private"
	}
	b := a.As16()
	switch {
	case nat64.Contains(a):
		return notPublic(netip.AddrFrom4([4]byte(b[12:16])))
	case sixTo4.Contains(a):
		return notPublic(netip.AddrFrom4([4]byte(b[2:6])))
	}
	for _, s := range special {
		if s.prefix.Contains(a) {
			return s.what
		}
	}
	return ""
}

// Refused returns an error if host is an address from which the site does not fetch. A name is checked only when it is
// resolved.
func (c Config) Refused(host string) error {
	a, err := netip.ParseAddr(host)
	if err != nil {
		return nil
	}
	ns, err := networksOf(c.Networks)
	if err != nil {
		return err
	}
	return ns.allows(a)
}

// dialer returns a dialer that connects only to allowed addresses. It checks the address of each connection, because a
// name may resolve to another address each time.
func (ns networks) dialer(resolver *net.Resolver) *net.Dialer {
	return &net.Dialer{Timeout: connectTime, Resolver: resolver,
		ControlContext: func(_ context.Context, network, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return &refusal{fmt.Sprintf("%s %.100q is no address of a server", network, address)}
			}
			return ns.allows(to.Addr())
		}}
}
