package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"jjm/internal/jjm"
)

// outputLists is the folder of a bulk for lists of outputs that do not fit into results.
const outputLists = "outputs"

// putOutputs writes the outputs of a result into a separate file, and a description of that file into the result.
func (a *Area) putOutputs(r *jjm.Result) error {
	name := posFile(r.Tag, outputLists, r.Pos, ".json")
	b, err := json.Marshal(r.Outputs)
	if err != nil {
		return a.wrap(err, "encode outputs %s", name)
	}
	if len(b) > MaxOutputList {
		return jjm.Errorf(jjm.Invalid, "sandbox: outputs %s: a list of %d bytes: want at most %d", name, len(b),
			MaxOutputList)
	}
	if err := a.fs.MkdirAll(BulkDir(r.Tag)+"/"+outputLists, dirMode); err != nil {
		return a.wrap(err, "make the folder of %s", name)
	}
	if err := a.replaceBytes(name, syncNamed, b); err != nil {
		return a.wrap(err, "write outputs %s", name)
	}
	sum := sha256.Sum256(b)
	r.Listed = &jjm.OutputList{Outputs: len(r.Outputs), Bytes: int64(len(b)), SHA256: hex.EncodeToString(sum[:])}
	r.Outputs = nil
	return nil
}

// readOutputs reads the outputs of a result from a separate file, if the result describes one. The job's account owns
// that file, so readOutputs returns an error if the file differs from its description in the result.
func (a *Area) readOutputs(r *jjm.Result) error {
	if r.Listed == nil {
		return nil
	}
	if r.Listed.Bytes > MaxOutputList || r.Listed.Outputs > MaxOutputs {
		return fmt.Errorf("%d outputs in %d bytes: want at most %d in %d", r.Listed.Outputs, r.Listed.Bytes, MaxOutputs,
			MaxOutputList)
	}
	b, err := a.readBounded(posFile(r.Tag, outputLists, r.Pos, ".json"), MaxOutputList)
	if errors.Is(err, fs.ErrNotExist) { // the caller must not mistake it for a missing result
		return errors.New("the list of its outputs is not there")
	}
	if err != nil {
		return fmt.Errorf("the list of its outputs: %w", err)
	}
	if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != r.Listed.SHA256 {
		return errors.New("the list of its outputs was changed")
	}
	if err := json.Unmarshal(b, &r.Outputs); err != nil {
		return fmt.Errorf("the list of its outputs: %w", err)
	}
	if len(r.Outputs) > MaxOutputs {
		return fmt.Errorf("%d outputs: want at most %d", len(r.Outputs), MaxOutputs)
	}
	r.Listed = nil
	return nil
}
