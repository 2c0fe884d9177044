package fetch

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAllows_OnlyWhatIsPublic(t *testing.T) {
	for text, public := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "100.63.255.255": true, "100.128.0.0": true, "172.15.0.1": true,
		"2606:4700::1111": true, "64:ff9b::808:808": true, "2002:808:808::1": true, "::ffff:8.8.8.8": true,
		"127.0.0.1": false, "127.8.9.1": false, "::1": false, "::": false, "0.0.0.0": false, "0.1.2.3": false,
		"10.0.0.1": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false,
		"169.254.169.254": false, "169.254.0.1": false, "fe80::1": false, "fe80::1%eth0": false, "fec0::1": false,
		"100.64.0.1": false, "100.100.100.200": false, "100.127.255.255": false, "168.63.129.16": false,
		"192.0.0.192": false, "192.0.2.1": false, "198.18.0.1": false, "198.51.100.7": false, "203.0.113.9": false,
		"224.0.0.1": false, "239.1.2.3": false, "ff02::1": false, "ff0e::1": false, "255.255.255.255": false,
		"240.0.0.1": false, "fc00::1": false, "fd00:ec2::254": false, "2001:db8::1": false, "2001::1": false,
		"::ffff:127.0.0.1": false, "::ffff:10.1.2.3": false, "::127.0.0.1": false, "::ffff:169.254.169.254": false,
		"64:ff9b::7f00:1": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b:1::808:808": false, "2002:a00:1::1": false,
		"2002:7f00:1::": false,
	} {
		err := networks(nil).allows(netip.MustParseAddr(text))
		if (err == nil) != public {
			t.Errorf("%s: %v, public %t", text, err, public)
		}
		refused := (*refusal)(nil)
		if err != nil && (!errors.As(err, &refused) || !strings.Contains(err.Error(), "engine.fetch.networks")) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestAllows_WhatTheSiteNames(t *testing.T) {
	ns, err := networksOf([]string{"10.1.2.3/16", "fd00:1::/32", "127.0.0.1/32"})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"10.1.0.1": true, "10.1.255.1": true, "::ffff:10.1.0.1": true, "10.2.0.1": false, "fd00:1::5": true,
		"fd00:2::5": false, "127.0.0.1": true, "127.0.0.2": false, "::1": false, "64:ff9b::a01:1": false,
	} {
		if err := ns.allows(netip.MustParseAddr(text)); (err == nil) != want {
			t.Errorf("%s: %v, want %t", text, err, want)
		}
	}
	if _, err := networksOf([]string{"10.0.0.0"}); err == nil {
		t.Error("an address is no network")
	}
}

// An IPv4 address in the form of an IPv6 address is judged as the IPv4 address.
func TestAllows_NoOtherSpellingLeadsIn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := [4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "address"))
		plain := networks(nil).allows(netip.AddrFrom4(b)) == nil
		mapped := netip.AddrFrom16(netip.AddrFrom4(b).As16())
		nat := [16]byte{0, 0x64, 0xff, 0x9b, 12: b[0], 13: b[1], 14: b[2], 15: b[3]}
		six := [16]byte{0x20, 0x02, b[0], b[1], b[2], b[3], 15: 1}
		for _, a := range []netip.Addr{mapped, netip.AddrFrom16(nat), netip.AddrFrom16(six)} {
			if (networks(nil).allows(a) == nil) != plain {
				t.Errorf("%s is judged otherwise than %v", a, b)
			}
		}
	})
}

func TestRefused_AnAddressInTheURL(t *testing.T) {
	c := Config{Networks: []string{"127.0.0.1/32"}}
	for host, refused := range map[string]bool{"127.0.0.1": false, "127.0.0.2": true, "::1": true, "localhost": false,
		"169.254.169.254": true, "8.8.8.8": false} {
		if err := c.Refused(host); (err != nil) != refused {
			t.Errorf("%s: %v", host, err)
		}
	}
}
