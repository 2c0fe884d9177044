package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"jjm/internal/api/serve"
	"jjm/internal/api/server"
	"jjm/internal/api/wire"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/servertest"
)

// v1 is the folder with recorded requests and answers of version 1 of each verb.
const v1 = "../wire/testdata/v1"

// recording is a recorded request and its answer. The field asked gets the request that the function of the verb
// received.
type recording struct {
	t      *testing.T
	answer [][]byte
	asked  []byte // the request that the verb's function got
}

// note stores the request that the verb's function received.
func (r *recording) note(req wire.Request) {
	text, err := json.Marshal(req)
	if err != nil {
		r.t.Error(err)
	}
	r.asked = append(text, '\n')
}

// line decodes one line of the recorded answer.
func line[Ans any](r *recording, i int) (a Ans) {
	if err := json.Unmarshal(r.answer[i], &a); err != nil {
		r.t.Error(err)
	}
	return a
}

// plain makes a verb that answers with the recorded line.
func plain[Req wire.Request, Ans wire.Answer](v wire.Verb[Req, Ans], r *recording) serve.Verb {
	return serve.Handle(v, serve.Anyone, func(_ context.Context, _ wire.Caller, req Req) (Ans, error) {
		r.note(req)
		return line[Ans](r, 0), nil
	})
}

// stream makes a verb that answers with the recorded lines.
func stream[Req wire.Request, Ans wire.Answer](v wire.Verb[Req, Ans], r *recording) serve.Verb {
	return serve.HandleStream(v, serve.Anyone, func(_ context.Context, _ wire.Caller, req Req,
		out *serve.Stream[Ans]) error {
		r.note(req)
		for i := range r.answer {
			a := line[Ans](r, i)
			if err := out.Line(a, a.Outcome().Last); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *recording) verbs() []serve.Verb {
	return []serve.Verb{
		plain(wire.VerbPing(), r),
		plain(wire.VerbSubmit(), r),
		plain(wire.VerbLookup(), r),
		plain(wire.VerbKill(), r),
		plain(wire.VerbHold(), r),
		plain(wire.VerbRelease(), r),
		plain(wire.VerbForceStatus(), r),
		plain(wire.VerbFreeze(), r),
		plain(wire.VerbUnfreeze(), r),
		plain(wire.VerbResubmit(), r),
		plain(wire.VerbResplit(), r),
		plain(wire.VerbCopy(), r),
		plain(wire.VerbRemove(), r),
		plain(wire.VerbSet(), r),
		plain(wire.VerbSelect(), r),
		plain(wire.VerbStatus(), r),
		plain(wire.VerbList(), r),
		stream(wire.VerbWait(), r),
		plain(wire.VerbRecord(), r),
		stream(wire.VerbRecords(), r),
		stream(wire.VerbOutput(), r),
		stream(wire.VerbCat(), r),
		plain(wire.VerbHistory(), r),
		plain(wire.VerbExplain(), r),
		plain(wire.VerbWhy(), r),
		plain(wire.VerbFind(), r),
		plain(wire.VerbLog(), r),
		plain(wire.VerbJobTypes(), r),
		plain(wire.VerbModels(), r),
		plain(wire.VerbClusters(), r),
		plain(wire.VerbHealth(), r),
		plain(wire.VerbOrder(), r),
		plain(wire.VerbReset(), r),
		plain(wire.VerbBan(), r),
		plain(wire.VerbExclude(), r),
		plain(wire.VerbRenew(), r),
		plain(wire.VerbRemark(), r),
		plain(wire.VerbAdvertise(), r),
		plain(wire.VerbDataset(), r),
		plain(wire.VerbVerify(), r),
		plain(wire.VerbRetract(), r),
		plain(wire.VerbReplay(), r),
	}
}

// An older client sends every verb. The function of each verb gets the whole request, and the client gets the same
// bytes as from a daemon of its own version.
func TestVerbs_AnswerOlderClientsAsBefore(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(v1, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	served := map[string]bool{}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines := bytes.SplitAfter(text, []byte("\n"))
			request, answer := lines[0], lines[1:len(lines)-1]
			r := &recording{t: t, answer: answer}
			got := converse(t, r.verbs(), request, len(answer))
			if want := bytes.Join(answer, nil); !bytes.Equal(got, want) {
				t.Errorf("answer\n%s, want\n%s", got, want)
			}
			head, err := wire.DecodeHead(request)
			if err != nil {
				t.Fatal(err)
			}
			served[head.Verb] = true
			if want := asAsked(t, request); !bytes.Equal(asAsked(t, r.asked), want) {
				t.Errorf("asked\n%s, want\n%s", r.asked, want)
			}
		})
	}
	for _, v := range wire.Verbs() {
		if !served[v.Name] {
			t.Errorf("%s was not asked for", v.Name)
		}
	}
}

// asAsked returns a request with its members in the order of the struct, for comparisons.
func asAsked(t *testing.T, request []byte) []byte {
	var members map[string]any
	if err := json.Unmarshal(request, &members); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// converse sends a request to a server that has the given verbs, and returns the first lines of the answer. lines is
// their number.
func converse(t *testing.T, served []serve.Verb, request []byte, lines int) []byte {
	t.Helper()
	conn, err := net.Dial("unix", servertest.Serve(t, served, server.Config{}, nil).Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(await.Guard(2 * time.Minute))); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(request); err != nil {
		t.Fatal(err)
	}
	var got []byte
	for r := bufio.NewReader(conn); lines > 0; lines-- {
		line, err := r.ReadBytes('\n')
		if err != nil {
			t.Fatalf("after %s: %v", got, err)
		}
		got = append(got, line...)
	}
	return got
}
