//! Addresses that a host name may lead to: a name that somebody else resolves must not lead into the own network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns whether an address belongs to the public internet: neither to this machine nor to a private, local, shared or reserved
/// range (RFC 6890).
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let reserved = match first {
        0 | 240..=255 => true,
        100 => (64..128).contains(&second),
        192 => (second, third) == (0, 0),
        198 => matches!(second, 18 | 19),
        _ => false,
    };
    !(reserved
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast())
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    // Forms that hold an IPv4 address lead where that address leads: mapped, compatible, and translated (RFC 6052).
    if let Some(inner) = address.to_ipv4() {
        return is_public_v4(inner);
    }
    let segments = address.segments();
    if segments[..6] == [0x64, 0xff9b, 0, 0, 0, 0] {
        let [.., high, low] = segments;
        let inner = Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
        return is_public_v4(inner);
    }
    // 2002::/16 wraps an IPv4 address in the same way (RFC 3056); nobody serves pages there.
    let reserved = segments[0] == 0x2002 || segments[..2] == [0x2001, 0xdb8];
    // All that is assigned to the internet lies in 2000::/3.
    (segments[0] & 0xe000) == 0x2000 && !reserved
}

#[cfg(test)]
mod tests {
    use super::is_public;

    #[test]
    fn the_internet_is_public() {
        for address in
            ["93.184.215.14", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:2800:21f::1", "64:ff9b::101:101"]
        {
            assert!(is_public(address.parse().expect(address)), "{address}");
        }
    }

    #[test]
    fn own_networks_are_not_in_whatever_form() {
        for address in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "192.0.0.8",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "fe80::1",
            "fd00::1",
            "ff02::1",
            "2001:db8::1",
        ] {
            assert!(!is_public(address.parse().expect(address)), "{address}");
        }
    }
}
