package embedded

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// A finished file ends in a seal: sealMark, how many bytes stand before it, and their CRC-32C. SQLite knows from its header how
// many pages there are and does not look behind them; another program that writes to the file changes what the seal tells.
//
// The seal is against accidents and against rows that were edited, and no secret is in it, so a stronger digest would keep out
// nobody who writes a seal as well, and takes five times as long: for a hundred thousand pieces with vectors 0.4 s, at every opening.
const (
	sealMark = "CLPRseal"
	sealSize = len(sealMark) + 8 + 4
)

// headerSize is how long the header of an SQLite file is.
const headerSize = 100

// seal ends a file that is complete.
func seal(ctx context.Context, file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	end, err := makeSeal(ctx, file, info.Size())
	if err != nil {
		return err
	}
	_, err = file.WriteAt(end, info.Size())
	return err
}

// checkSeal reports whether a file has the format of this version and is, to the byte, what was sealed.
func checkSeal(ctx context.Context, file *os.File) error {
	header := make([]byte, headerSize)
	if _, err := file.ReadAt(header, 0); err != nil {
		return damage{err}
	}
	if format := binary.BigEndian.Uint32(header[60:]); format != storeFormat {
		return fmt.Errorf("it has format %d, and this version reads %d; name the documents to build it again", format, storeFormat)
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	size := info.Size() - int64(sealSize)
	got := make([]byte, sealSize)
	if _, err := file.ReadAt(got, max(size, 0)); err != nil {
		return fmt.Errorf("reading its last bytes: %w", err)
	}
	want, err := makeSeal(ctx, file, size)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return damage{errors.New("it is not what was built: something has changed it since")}
	}
	return nil
}

// makeSeal returns the seal of the first size bytes.
func makeSeal(ctx context.Context, file io.ReaderAt, size int64) ([]byte, error) {
	table := crc32.MakeTable(crc32.Castagnoli)
	var sum uint32
	buffer := make([]byte, 1<<18)
	for at := int64(0); at < size; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		part := buffer[:min(int64(len(buffer)), size-at)]
		if _, err := file.ReadAt(part, at); err != nil {
			return nil, fmt.Errorf("reading at byte %d: %w", at, err)
		}
		sum = crc32.Update(sum, table, part)
		at += int64(len(part))
	}
	out := make([]byte, 0, sealSize)
	out = append(out, sealMark...)
	out = binary.BigEndian.AppendUint64(out, uint64(size)) //nolint:gosec // a size is not negative
	return binary.BigEndian.AppendUint32(out, sum), nil
}

// refuseForeign returns an error where path holds something that is not ours, so that no setting can overwrite it.
func refuseForeign(path string) error {
	file, err := openRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	header := make([]byte, headerSize)
	if _, err := io.ReadFull(file, header); err != nil || !bytes.HasPrefix(header, []byte("SQLite format 3\x00")) ||
		binary.BigEndian.Uint32(header[68:]) != applicationID {
		return notOurs(path)
	}
	return nil
}

func notOurs(path string) error {
	return invalid("open", "%q is not a store that Culprit built; it is neither read nor overwritten", path)
}

// openRegular opens a file to read it. Anything else is refused before it is opened, for a named pipe would wait for a writer
// for ever, and out of reach of a signal.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, notOurs(path)
	}
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may have been replaced since
}
