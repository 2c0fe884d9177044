package slurm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/go-retryablehttp"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// restClient submits through slurmrestd. Everything except submissions goes through the commands, because the JSON of
// 22.05 has wrong states and exit codes.
type restClient struct {
	http *retryablehttp.Client
	url  string
	// jwt is set for HTTP, where every request needs a token. On a Unix socket slurmrestd acts for the user who runs
	// it.
	jwt   bool
	fetch func(ctx context.Context, owner jjm.Owner) (string, error)

	mu     sync.Mutex
	tokens map[string]token // tokens by user
}

// token is a JSON Web Token of one user, and the time until which it is used.
type token struct {
	text  string
	until time.Time
}

// tokenLife is the lifetime that jjm requests for a token. jjm uses a token for half of that time.
const tokenLife = time.Hour

func newRestClient(c Config, fetch func(context.Context, jjm.Owner) (string, error)) *restClient {
	// Each submission has a separate connection. If slurmrestd closed a reused connection during a submission, the outcome
	// of that submission would be unknown.
	transport := &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	base := strings.TrimSuffix(c.Rest, "/")
	socket, isUnix := strings.CutPrefix(c.Rest, "unix:")
	if isUnix {
		base = "http://localhost"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}
	}
	h := retryablehttp.NewClient()
	h.HTTPClient = &http.Client{Transport: transport}
	h.Logger = nil
	h.RetryMax, h.RetryWaitMin, h.RetryWaitMax = 2, 100*time.Millisecond, time.Second
	h.CheckRetry = retryUnsent
	h.ErrorHandler = retryablehttp.PassthroughErrorHandler
	return &restClient{
		http: h, url: base + "/slurm/" + c.API + "/job/submit", jwt: !isUnix, fetch: fetch, tokens: map[string]token{},
	}
}

// retryUnsent allows a second try only if no connection was made, because the server may have carried out a request
// that was sent.
func retryUnsent(ctx context.Context, _ *http.Response, err error) (bool, error) {
	return ctx.Err() == nil && neverConnected(err), nil
}

func neverConnected(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// restJob holds the job properties of v0.0.37 and v0.0.38. "requeue": false is left out,
// because 22.05 ignores it.
type restJob struct {
	Name        string            `json:"name"`
	Array       string            `json:"array"`
	Partition   string            `json:"partition,omitempty"`
	Account     string            `json:"account,omitempty"`
	WCKey       string            `json:"wckey,omitempty"`
	QOS         string            `json:"qos,omitempty"`
	Nodes       int               `json:"nodes"`
	Tasks       int               `json:"tasks"`
	CPUs        int               `json:"cpus_per_task,omitempty"`
	MemoryMB    int64             `json:"memory_per_node,omitempty"`
	ScratchMB   int64             `json:"temporary_disk_per_node,omitempty"`
	GRES        string            `json:"gres,omitempty"`
	Minutes     int64             `json:"time_limit,omitempty"`
	Exclude     string            `json:"exclude_nodes,omitempty"`
	Dir         string            `json:"current_working_directory"`
	Stdin       string            `json:"standard_input"`
	Stdout      string            `json:"standard_output"`
	Stderr      string            `json:"standard_error"`
	Environment map[string]string `json:"environment"`
}

// restSubmission is the JSON body of a submission.
type restSubmission struct {
	Script string  `json:"script"`
	Job    restJob `json:"job"`
}

// submission returns the body for a bulk. home is the home folder of the bulk's owner.
func submission(b adapters.Bulk, c Config, script, home string) restSubmission {
	r := c.Fill(b.Request)
	job := restJob{
		Name: string(b.Tag), Array: "0-" + strconv.Itoa(b.N-1),
		Partition: r.Queue, Account: r.Account, WCKey: r.Project, QOS: r.QOS,
		Nodes: 1, Tasks: 1, CPUs: r.Cores, MemoryMB: r.MemoryMB, ScratchMB: r.ScratchMB,
		Minutes: int64((r.Walltime.D() + time.Minute - 1) / time.Minute),
		Exclude: strings.Join(b.Exclude, ","),
		Dir:     "/", Stdin: os.DevNull, Stdout: os.DevNull, Stderr: os.DevNull,
		// slurmrestd rejects an empty environment.
		Environment: map[string]string{
			"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": home, "USER": b.Owner.User, "LOGNAME": b.Owner.User,
		},
	}
	if r.GPUs > 0 {
		job.GRES = "gpu:" + strconv.Itoa(r.GPUs)
	}
	return restSubmission{script, job}
}

// submit posts a bulk. If the server rejects the token, submit fetches a new token, at most once.
func (r *restClient) submit(ctx context.Context, b adapters.Bulk, c Config, script string) (adapters.Receipt, error) {
	home := "/"
	if u, err := user.LookupId(strconv.Itoa(b.Owner.UID)); err == nil {
		home = u.HomeDir
	}
	if !utf8.ValidString(script) {
		return adapters.Receipt{}, jjm.Errorf(jjm.Invalid, "slurmrestd: the command is not UTF-8, which JSON cannot carry")
	}
	body, err := json.Marshal(submission(b, c, script, home))
	if err != nil {
		return adapters.Receipt{}, jjm.Errorf(jjm.Internal, "slurmrestd: %w", err)
	}
	receipt, status, err := r.post(ctx, b, body)
	if status == http.StatusUnauthorized && r.jwt {
		r.forget(b.Owner)
		receipt, _, err = r.post(ctx, b, body)
	}
	return receipt, err
}

// post sends a submission once. It returns the receipt, the HTTP status of the answer (0 if there was no answer) and
// the error.
func (r *restClient) post(ctx context.Context, b adapters.Bulk, body []byte) (adapters.Receipt, int, error) {
	none, owner := adapters.Receipt{}, b.Owner
	if err := ctx.Err(); err != nil {
		return none, 0, adapters.NotStarted(jjm.Errorf(jjm.Busy, "slurmrestd: not asked: %w", err))
	}
	req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		return none, 0, jjm.Errorf(jjm.Invalid, "slurmrestd: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	if r.jwt {
		text, err := r.token(ctx, owner)
		if err != nil {
			return none, 0, adapters.NotStarted(err)
		}
		req.Header.Set("X-SLURM-USER-NAME", owner.User)
		req.Header.Set("X-SLURM-USER-TOKEN", text)
	}
	if err := adapters.Turn(ctx); err != nil {
		return none, 0, adapters.NotStarted(fmt.Errorf("slurmrestd: not asked: %w", err))
	}
	resp, err := r.http.Do(req)
	switch {
	case neverConnected(err):
		return none, 0, adapters.NotStarted(jjm.Errorf(jjm.Busy, "slurmrestd: %w", err))
	case err != nil:
		return none, 0, jjm.Errorf(jjm.Ambiguous, "slurmrestd: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return none, resp.StatusCode, jjm.Errorf(jjm.Ambiguous, "slurmrestd: HTTP %d: %w", resp.StatusCode, err)
	}
	receipt, err := restReceipt(resp.StatusCode, answer, b.N)
	return receipt, resp.StatusCode, err
}

// maxAnswer is the largest size of an answer in bytes, a thousand times the usual size.
const maxAnswer = 1 << 20

// restReceipt returns a receipt or an error from the answer to a submission of n jobs.
func restReceipt(status int, body []byte, n int) (adapters.Receipt, error) {
	none := adapters.Receipt{}
	if status == http.StatusUnauthorized {
		return none, jjm.Errorf(jjm.Denied, "slurmrestd: HTTP 401: the token was refused: %.200q", body)
	}
	var answer struct {
		JobID  int64 `json:"job_id"`
		Errors []struct {
			Text string `json:"error"`
			More string `json:"description"`
			Code int    `json:"error_code"`
		} `json:"errors"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return none, jjm.Errorf(jjm.Ambiguous, "slurmrestd: HTTP %d: %.200q: %w", status, body, err)
	}
	if len(answer.Errors) > 0 {
		var text strings.Builder
		for _, e := range answer.Errors {
			fmt.Fprintf(&text, " %s %s (%d)", e.Text, e.More, e.Code)
		}
		failed := func(kind jjm.Kind) error { return jjm.Errorf(kind, "slurmrestd: HTTP %d:%s", status, text.String()) }
		means, _ := find(text.String())
		policy := strings.Contains(text.String(), unexplainedPolicy)
		if status == http.StatusBadRequest && means == ambiguous && !policy {
			return none, failed(jjm.Invalid) // the server could not read the request
		}
		return none, marked(text.String(), n, failed)
	}
	if status != http.StatusOK || answer.JobID <= 0 {
		return none, jjm.Errorf(jjm.Ambiguous, "slurmrestd: HTTP %d: no job id in %.200q", status, body)
	}
	return adapters.Receipt{ID: strconv.FormatInt(answer.JobID, 10)}, nil
}

// token returns the stored token of an owner, or fetches a new one.
func (r *restClient) token(ctx context.Context, owner jjm.Owner) (string, error) {
	r.mu.Lock()
	t, ok := r.tokens[owner.User]
	r.mu.Unlock()
	if ok && time.Now().Before(t.until) {
		return t.text, nil
	}
	text, err := r.fetch(ctx, owner)
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tokens[owner.User] = token{text, time.Now().Add(tokenLife / 2)}
	return text, nil
}

// forget drops the stored token of an owner.
func (r *restClient) forget(owner jjm.Owner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.tokens, owner.User)
}

// token returns a JSON Web Token from the configured file or command, or from the controller. Its errors are of kind
// Busy, because nothing has been submitted.
func (a *Adapter) token(ctx context.Context, _ jjm.Owner) (string, error) {
	var text []byte
	var err error
	switch {
	case a.config.TokenFile != "":
		text, err = os.ReadFile(a.config.TokenFile)
	case len(a.config.TokenCommand) > 0:
		text, err = command(ctx, adapters.CLI{Env: a.config.Env}, a.config.TokenCommand...)
	default:
		text, err = command(ctx, a.config.CLI, "scontrol", "token", "lifespan="+strconv.Itoa(int(tokenLife.Seconds())))
	}
	if err != nil {
		return "", jjm.Errorf(jjm.Busy, "get a token for slurmrestd: %w", err)
	}
	word := strings.TrimPrefix(strings.TrimSpace(string(text)), "SLURM_JWT=")
	if word == "" || strings.ContainsAny(word, " \t\r\n") {
		return "", jjm.Errorf(jjm.Busy, "get a token for slurmrestd: want one word, or SLURM_JWT=WORD")
	}
	return word, nil
}
