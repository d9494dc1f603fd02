package deid

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math/bits"

	"filmroom/dicom/uid"
)

// MapUID is the UID that stands for old under the key: of the form 2.25.n (PS3.5 annex B.2), n being a
// UUID made of HMAC-SHA256. It depends on nothing else, so that references between files hold, and
// cannot be led back without the key. UIDs that the standard registers mean the same everywhere and
// stay.
func MapUID(key []byte, old string) string {
	if _, known := uid.Lookup(old); known || old == "" {
		return old
	}
	return string(appendUID(nil, hmac.New(sha256.New, key), []byte(old)))
}

// appendUID adds the new UID for old to b. mac is reset before use.
func appendUID(b []byte, mac hash.Hash, old []byte) []byte {
	var sum [sha256.Size]byte
	mac.Reset()
	mac.Write(old)
	mac.Sum(sum[:0])
	sum[6] = sum[6]&0x0F | 0x80 // version 8 of RFC 9562: the content is the maker's affair
	sum[8] = sum[8]&0x3F | 0x80 // variant of RFC 9562
	b = append(b, "2.25."...)
	return appendUint128(b, binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16]))
}

// appendUint128 writes a 128-bit number in decimal digits.
func appendUint128(b []byte, hi, lo uint64) []byte {
	var digits [39]byte
	i := len(digits)
	for hi > 0 || lo > 0 || i == len(digits) {
		var r uint64
		hi, r = hi/10, hi%10
		lo, r = bits.Div64(r, lo, 10)
		i--
		digits[i] = '0' + byte(r)
	}
	return append(b, digits[i:]...)
}

// isWellKnown reports whether the standard registers the UID.
func isWellKnown(value []byte) bool {
	_, known := uid.Lookup(string(value))
	return known
}

// looksLikeUID reports whether a value has nothing but a UID's characters; whether its components are in
// order does not matter to what it tells.
func looksLikeUID(b []byte) bool {
	if len(b) > uid.MaxLen {
		return false
	}
	for _, c := range b {
		if c != '.' && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}
