package advertise

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func exampleFacts() Facts {
	return Facts{
		Site: "EXAMPLE-T2", Instance: "jabcd", Version: "1.0", Quality: "production", At: 1_700_000_000_000, Lifetime: 900,
		Waiting: 7,
		Clusters: []Cluster{
			{Name: "slurm", Kind: "slurm", Guarantee: "strong: slurmdbd", Health: Answering, Slots: Known(16), Queued: Known(2),
				Running: Known(3),
				Waiting: 5, LastSeen: 1_699_999_990_000, Queue: "long", Queues: []string{"long", `od"d`},
				Limits: Limits{MaxCores: 8, MaxMemoryMB: 4096, MaxWallTime: 86400, MaxRunning: 10}},
			{Name: "condor", Kind: "condor", Guarantee: "strong", Health: NotAnswering, Reason: "no listing", Waiting: 7},
		},
		Types:       []JobType{{Name: "montecarlo"}, {Name: "script", Drained: true}},
		Gatekeepers: []Gatekeeper{{Kind: "gram5", Contact: "ce.example.org:2119/jobmanager-jjm"}},
	}
}

func TestFacts_UnknownCountsAreNeverZero(t *testing.T) {
	f := exampleFacts()
	text := f.Ad().Text()
	for _, want := range []string{
		"TotalSlots = undefined\n", "RunningJobs = undefined\n", "QueuedJobs = undefined\n", "WaitingJobs = 7\n",
		`Name = "condor"; Kind = "condor"; State = "unreachable"; Drained = false; Paused = false; Answers = false; Reason = "no listing"; Slots = undefined;`,
		`Slots = 16; RunningJobs = 3; QueuedJobs = 2; WaitingJobs = 5`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	f.Clusters[1] = Cluster{Name: "condor", Health: Answering, Slots: Known(4), Queued: Known(0), Running: Known(0)}
	text = f.Ad().Text()
	for _, want := range []string{"TotalSlots = 20\n", "RunningJobs = 3\n", "QueuedJobs = 2\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("all is known, and no %q in\n%s", want, text)
		}
	}
	if f.Clusters[1].Health = HealthUnknown; strings.Contains(f.Clusters[1].ad().Text(), "Answers") {
		t.Error("a batch system that was not asked is said to answer, or not to")
	}
}

func TestState_OfASiteIsThatOfItsBestCluster(t *testing.T) {
	open, drained, paused := Cluster{Health: Answering}, Cluster{Health: Answering, Drained: true},
		Cluster{Health: Answering, Paused: true}
	silent, unasked := Cluster{Health: NotAnswering}, Cluster{}
	both := Cluster{Drained: true, Paused: true}
	for _, c := range []struct {
		clusters       []Cluster
		state, serving string
		health         string
	}{
		{[]Cluster{open, drained}, Open, "production", "ok"},
		{[]Cluster{silent, open}, Open, "production", "warning"},
		{[]Cluster{drained, drained}, Drained, "draining", "ok"},
		{[]Cluster{drained, paused}, Paused, "queueing", "ok"},
		{[]Cluster{silent, drained}, Unreachable, "queueing", "warning"},
		{[]Cluster{silent}, Unreachable, "queueing", "critical"},
		{[]Cluster{silent, unasked}, Unknown, "production", "warning"},
		{[]Cluster{unasked}, Unknown, "production", "unknown"},
		{[]Cluster{both}, Drained, "closed", "unknown"},
	} {
		f := Facts{Clusters: c.clusters}
		health, _ := f.health()
		if f.State() != c.state || f.serving() != c.serving || health != c.health {
			t.Errorf("%+v: %s, %s, %s", c, f.State(), f.serving(), health)
		}
	}
}

func TestOffer_ChangesIfBrokersMustLearnOfItAtOnce(t *testing.T) {
	before := exampleFacts().Offer()
	for name, change := range map[string]func(*Facts){
		"drained":   func(f *Facts) { f.Clusters[0].Drained = true },
		"silent":    func(f *Facts) { f.Clusters[0].Health = NotAnswering },
		"type":      func(f *Facts) { f.Types[0].Paused = true },
		"other one": func(f *Facts) { f.Clusters = f.Clusters[:1] },
	} {
		f := exampleFacts()
		if change(&f); f.Offer() == before {
			t.Errorf("%s: nobody hears of it", name)
		}
	}
	f := exampleFacts()
	if f.Clusters[0].Running, f.Waiting, f.At = Known(9), 3, f.At+1000; f.Offer() != before {
		t.Error("each job that starts is news")
	}
}

func TestWithdrawal_MatchesOnlyTheAdOfTheInstance(t *testing.T) {
	want := `MyType = "Query"
TargetType = "JJMSite"
Requirements = MyType == "JJMSite" && NameKey == "` + NameKey("a\"\n") + `" && Instance == "jabcd"
`
	if got := Withdrawal("a\"\n", "jabcd"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if NameKey("a") == NameKey("b") || len(NameKey("")) != 16 {
		t.Error("keys are not keys")
	}
}

// decoded returns the facts as a GLUE document, decoded from JSON: the entities of each class.
func decoded(t testing.TB, f Facts) map[string][]map[string]any {
	t.Helper()
	text, err := f.GLUE()
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string][]map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return doc
}

func TestGLUE_LeavesOutWhatIsNotKnown(t *testing.T) {
	doc := decoded(t, exampleFacts())
	service, share, condor := doc["ComputingService"][0], doc["ComputingShare"][0], doc["ComputingShare"][1]
	for _, key := range []string{"TotalJobs", "RunningJobs", "WaitingJobs"} {
		for _, e := range []map[string]any{service, condor} {
			if v, told := e[key]; told {
				t.Errorf("%s of %s is told: %v", key, e["ID"], v)
			}
		}
	}
	if _, told := doc["ComputingManager"][1]["TotalSlots"]; told || doc["ComputingManager"][0]["TotalSlots"] != 16.0 {
		t.Errorf("slots: %v", doc["ComputingManager"])
	}
	want := map[string]any{
		"CreationTime": "2023-11-14T22:13:20Z", "Validity": 900.0, "ID": "urn:glue2:ComputingShare:EXAMPLE-T2:slurm",
		"Name":         "slurm",
		"OtherInfo":    []any{"State=open", "Guarantee=strong: slurmdbd", "Queue=long", `Queue=od"d`},
		"MappingQueue": "long", "MaxWallTime": 86400.0, "MaxRunningJobs": 10.0, "MaxSlotsPerJob": 8.0,
		"MaxMainMemory": 4096.0,
		"ServingState":  "production", "TotalJobs": 10.0, "RunningJobs": 3.0, "WaitingJobs": 2.0, "PreLRMSWaitingJobs": 5.0,
		"Associations": map[string]any{
			"ServiceID":  "urn:glue2:ComputingService:EXAMPLE-T2",
			"EndpointID": []any{"urn:glue2:ComputingEndpoint:EXAMPLE-T2:gram5.0"},
		},
	}
	if d := cmp.Diff(want, share); d != "" {
		t.Error(d)
	}
	if condor["ServingState"] != "queueing" || doc["ComputingEndpoint"][0]["HealthState"] != "warning" {
		t.Errorf("%v\n%v", condor, doc["ComputingEndpoint"])
	}
}

// For any names, every attribute that GFD.147 requires exists, and every association leads to an entity of the
// document.
func TestGLUE_IsCompleteWhateverTheNames(t *testing.T) {
	required := map[string][]string{
		"ComputingService":  {"ID", "Capability", "Type", "QualityLevel"},
		"ComputingEndpoint": {"ID", "URL", "Capability", "InterfaceName", "QualityLevel", "HealthState", "ServingState"},
		"ComputingShare":    {"ID", "ServingState"},
		"ComputingManager":  {"ID", "ProductName"},
	}
	rapid.Check(t, func(t *rapid.T) {
		f := exampleFacts()
		f.Site = anyText().Draw(t, "site")
		f.Clusters[0].Queues = []string{anyText().Draw(t, "queue")}
		f.Gatekeepers = nil
		for _, kind := range Kinds() {
			f.Gatekeepers = append(f.Gatekeepers, Gatekeeper{Kind: kind, Contact: anyText().Draw(t, kind)})
		}
		text, err := f.GLUE()
		if err != nil {
			t.Fatal(err)
		}
		var doc map[string][]map[string]any
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		checkGLUE(t, doc, required)
	})
}

func checkGLUE(t *rapid.T, doc map[string][]map[string]any, required map[string][]string) {
	ids := map[string]bool{}
	for class, entities := range doc {
		for _, e := range entities {
			for _, key := range required[class] {
				if e[key] == nil {
					t.Fatalf("%s without %s: %v", class, key, e)
				}
			}
			id := e["ID"].(string)
			if ids[id] || strings.ContainsAny(id, "\n\" ") {
				t.Fatalf("ID %q is another's, or no URI", id)
			}
			ids[id] = true
		}
	}
	for _, entities := range doc {
		for _, e := range entities {
			for name, to := range e["Associations"].(map[string]any) {
				list, ok := to.([]any)
				if !ok {
					list = []any{to}
				}
				for _, id := range list {
					if !ids[id.(string)] {
						t.Fatalf("%s of %v leads to %v, which is not there", name, e["ID"], id)
					}
				}
			}
		}
	}
}
