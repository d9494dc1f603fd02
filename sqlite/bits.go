package sqlite

import (
	"encoding/binary"
	"iter"
	"math/bits"
)

// chunkSize is how many rows of a table a [bitset] tells apart.
const chunkSize = 1024

// A bitset is a set of numbers below [chunkSize].
type bitset [chunkSize / 64]uint64

func (b *bitset) add(i int64)      { b[i/64] |= 1 << (i % 64) }
func (b *bitset) drop(i int64)     { b[i/64] &^= 1 << (i % 64) }
func (b *bitset) has(i int64) bool { return b[i/64]&(1<<(i%64)) != 0 }

func (b *bitset) and(o *bitset) {
	for i := range b {
		b[i] &= o[i]
	}
}

func (b *bitset) or(o *bitset) {
	for i := range b {
		b[i] |= o[i]
	}
}

func (b *bitset) without(o *bitset) {
	for i := range b {
		b[i] &^= o[i]
	}
}

func (b *bitset) len() (n int) {
	for _, word := range b {
		n += bits.OnesCount64(word)
	}
	return n
}

func (b *bitset) all() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for i, word := range b {
			for ; word != 0; word &= word - 1 {
				if !yield(int64(i*64 + bits.TrailingZeros64(word))) {
					return
				}
			}
		}
	}
}

// bitsetBytes is how long the longest encoding is: one bit a number. A set so small that a list of its numbers,
// two bytes each, is shorter, is such a list.
const bitsetBytes = chunkSize / 8

func (b *bitset) encode() (data []byte) {
	if 2*b.len() < bitsetBytes {
		for i := range b.all() {
			data = binary.LittleEndian.AppendUint16(data, uint16(i))
		}
		return data
	}
	for _, word := range b {
		data = binary.LittleEndian.AppendUint64(data, word)
	}
	return data
}

// orEncoded adds the set that encode wrote.
func (b *bitset) orEncoded(data []byte) {
	if len(data) == bitsetBytes {
		for i := range b {
			b[i] |= binary.LittleEndian.Uint64(data[8*i:])
		}
		return
	}
	for ; len(data) >= 2; data = data[2:] {
		b.add(int64(binary.LittleEndian.Uint16(data)) % chunkSize)
	}
}
