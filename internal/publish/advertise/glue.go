package advertise

import (
	"encoding/json"
	"fmt"
	"net/url"
	"time"
)

// glue is a GLUE 2.0 document. It has a list of entities for each class (GLUE v. 2.0, reference realization to JSON
// Schema, GFD.219; the attributes are defined in the GLUE specification v. 2.0, GFD.147). Attributes with unknown
// values are left out; appendix A of GFD.147 permits this for optional attributes. There are no ExecutionEnvironments,
// because jjm knows nothing about the worker nodes.
type glue struct {
	ComputingService  []glueService
	ComputingEndpoint []glueEndpoint `json:",omitempty"`
	ComputingShare    []glueShare    `json:",omitempty"`
	ComputingManager  []glueManager  `json:",omitempty"`
}

// glueEntity has the attributes that every entity has.
type glueEntity struct {
	CreationTime string // xsd:dateTime in UTC
	Validity     int    // seconds after CreationTime
	ID           string // a URI
	Name         string `json:",omitempty"`
	// OtherInfo has an element NAME=VALUE for each fact without a separate attribute.
	OtherInfo    []string `json:",omitempty"`
	Associations glueLinks
}

// glueLinks are the IDs of the associated entities.
type glueLinks struct {
	ServiceID  string   `json:",omitempty"`
	EndpointID []string `json:",omitempty"`
	ShareID    []string `json:",omitempty"`
	ManagerID  []string `json:",omitempty"`
}

// glueJobs counts jobs. The members are pointers: 0 is written, and an unknown number is left out.
type glueJobs struct {
	TotalJobs          *int `json:",omitempty"`
	RunningJobs        *int `json:",omitempty"`
	WaitingJobs        *int `json:",omitempty"`
	PreLRMSWaitingJobs *int `json:",omitempty"`
}

type glueService struct {
	glueEntity
	Capability   []string
	Type         string
	QualityLevel string
	Complexity   string
	glueJobs
}

type glueEndpoint struct {
	glueEntity
	URL                                       string
	Capability                                []string
	Technology                                string
	InterfaceName                             string
	ImplementationName, ImplementationVersion string
	QualityLevel, HealthState                 string
	HealthStateInfo                           string `json:",omitempty"`
	ServingState                              string
	JobDescription                            []string `json:",omitempty"`
}

type glueShare struct {
	glueEntity
	Description        string `json:",omitempty"`
	MappingQueue       string `json:",omitempty"`
	MaxWallTime        int64  `json:",omitempty"` // seconds
	MaxTotalJobs       int    `json:",omitempty"`
	MaxRunningJobs     int    `json:",omitempty"`
	MaxWaitingJobs     int    `json:",omitempty"`
	MaxUserRunningJobs int    `json:",omitempty"`
	MaxSlotsPerJob     int    `json:",omitempty"`
	MaxMainMemory      int64  `json:",omitempty"` // MB
	ServingState       string
	glueJobs
}

type glueManager struct {
	glueEntity
	ProductName string
	TotalSlots  *int `json:",omitempty"`
}

// executes returns the Capability_t values of a gatekeeper in front of jjm (GFD.147,
// appendix B).
func executes() []string {
	return []string{"executionmanagement.jobexecution", "executionmanagement.jobdescription",
		"executionmanagement.jobmanager"}
}

// endpoints returns, for each kind of gatekeeper, the interface name in GLUE that the information providers of XSEDE,
// HTCondor-CE and ARC use for such a gatekeeper.
func endpoints() map[string]glueEndpoint {
	return map[string]glueEndpoint{
		"gram5": {InterfaceName: "globus.gram5", Technology: "legacy", JobDescription: []string{"globus.rsl"}},
		"htcondor-ce": {InterfaceName: "org.opensciencegrid.htcondorce", Technology: "condor",
			JobDescription: []string{"condor:jdl"}},
		"arc": {InterfaceName: "org.nordugrid.arcrest", Technology: "rest", JobDescription: []string{"nordugrid:xrsl"}},
	}
}

// GLUE formats the facts as an indented GLUE 2.0 document.
func (f Facts) GLUE() ([]byte, error) {
	doc := glue{}
	service := f.glueService()
	for i, g := range f.Gatekeepers {
		e := f.glueEndpoint(i, g)
		doc.ComputingEndpoint = append(doc.ComputingEndpoint, e)
		service.Associations.EndpointID = append(service.Associations.EndpointID, e.ID)
	}
	for _, c := range f.Clusters {
		share, manager := f.glueShare(c), f.glueManager(c)
		doc.ComputingShare = append(doc.ComputingShare, share)
		doc.ComputingManager = append(doc.ComputingManager, manager)
		service.Associations.ShareID = append(service.Associations.ShareID, share.ID)
		service.Associations.ManagerID = append(service.Associations.ManagerID, manager.ID)
	}
	for i := range doc.ComputingEndpoint {
		doc.ComputingEndpoint[i].Associations.ShareID = service.Associations.ShareID
	}
	for i := range doc.ComputingShare {
		doc.ComputingShare[i].Associations.EndpointID = service.Associations.EndpointID
	}
	doc.ComputingService = []glueService{service}
	return json.MarshalIndent(doc, "", "  ")
}

// entity returns the common attributes of an entity. part identifies the entity within its class at this site.
func (f Facts) entity(class, part, name string) glueEntity {
	id := "urn:glue2:" + class + ":" + url.PathEscape(f.Site)
	if part != "" {
		id += ":" + url.PathEscape(part)
	}
	e := glueEntity{CreationTime: f.At.Time().UTC().Format(time.RFC3339), Validity: f.Lifetime, ID: id, Name: name}
	if class != "ComputingService" {
		e.Associations.ServiceID = f.entity("ComputingService", "", "").ID
	}
	return e
}

func (f Facts) glueService() glueService {
	s := glueService{
		glueEntity: f.entity("ComputingService", "", f.Site), Capability: executes(), Type: "jjm.sitejobmanager",
		QualityLevel: f.Quality,
		// GFD.147 defines the format of Complexity.
		Complexity: fmt.Sprintf("endpointType=%d, share=%d, resource=0", len(f.Gatekeepers), len(f.Clusters)),
	}
	s.OtherInfo = []string{"JJMVersion=" + f.Version, "JJMInstance=" + f.Instance, "State=" + f.State()}
	for _, t := range f.Types {
		s.OtherInfo = append(s.OtherInfo, "JobType="+t.Name, "JobTypeState="+t.Name+":"+t.state())
	}
	t := f.totals()
	s.glueJobs = jobs(t.running, t.queued, f.Waiting)
	return s
}

// jobs returns the counts of an entity. waiting is the number of jobs that no batch system has yet.
func jobs(running, queued Count, waiting int) glueJobs {
	return glueJobs{
		TotalJobs: number(sum([]Count{running, queued, Known(waiting)})), RunningJobs: number(running),
		WaitingJobs: number(queued), PreLRMSWaitingJobs: &waiting,
	}
}

// number returns a pointer to a count, or nil for an unknown count. JSON leaves out nil.
func number(c Count) *int {
	if n, known := c.Get(); known {
		return &n
	}
	return nil
}

func (f Facts) glueEndpoint(i int, g Gatekeeper) glueEndpoint {
	e := endpoints()[g.Kind]
	e.glueEntity = f.entity("ComputingEndpoint", fmt.Sprintf("%s.%d", g.Kind, i), g.Contact)
	e.URL, e.Capability, e.QualityLevel = g.Contact, executes(), f.Quality
	e.ImplementationName, e.ImplementationVersion = "jjm", f.Version
	e.HealthState, e.HealthStateInfo = f.health()
	e.ServingState = f.serving()
	return e
}

// health returns the EndpointHealthState_t of the site and a text about it. Both depend only on how many of the batch
// systems answer.
func (f Facts) health() (state, info string) {
	var silent, unasked int
	for _, c := range f.Clusters {
		switch c.Health {
		case NotAnswering:
			silent++
		case HealthUnknown:
			unasked++
		}
	}
	switch {
	case silent == 0 && unasked == 0:
		return "ok", ""
	case silent == len(f.Clusters):
		return "critical", "no batch system answers"
	case silent > 0:
		return "warning", fmt.Sprintf("%d of %d batch systems do not answer", silent, len(f.Clusters))
	}
	return "unknown", fmt.Sprintf("%d of %d batch systems have not answered yet", unasked, len(f.Clusters))
}

// serving returns the ServingState_t of a cluster. A drained cluster accepts no jobs. A cluster that is paused or does
// not answer runs no jobs. A cluster that is drained and does not answer counts as draining.
//
//	           | accepts jobs | runs jobs
//	closed     | no           | no
//	draining   | no           | yes
//	queueing   | yes          | no
//	production | yes          | yes
func serving(drained, paused, silent bool) string {
	switch {
	case drained && paused:
		return "closed"
	case drained:
		return "draining"
	case paused || silent:
		return "queueing"
	}
	return "production"
}

func (c Cluster) serving() string { return serving(c.Drained, c.Paused, c.Health == NotAnswering) }

// serving returns the best state of all clusters.
func (f Facts) serving() string {
	for _, state := range []string{"production", "queueing", "draining"} {
		for _, c := range f.Clusters {
			if c.serving() == state {
				return state
			}
		}
	}
	return "closed"
}

func (f Facts) glueShare(c Cluster) glueShare {
	l := c.Limits
	s := glueShare{
		glueEntity: f.entity("ComputingShare", c.Name, c.Name), Description: c.Reason, MappingQueue: c.Queue,
		MaxWallTime: l.MaxWallTime, MaxTotalJobs: l.MaxQueued, MaxRunningJobs: l.MaxRunning, MaxWaitingJobs: l.MaxPending,
		MaxUserRunningJobs: l.MaxRunningPerUser, MaxSlotsPerJob: l.MaxCores, MaxMainMemory: l.MaxMemoryMB,
		ServingState: c.serving(), glueJobs: jobs(c.Running, c.Queued, c.Waiting),
	}
	s.OtherInfo = []string{"State=" + c.State(), "Guarantee=" + c.Guarantee}
	for _, q := range c.Queues {
		s.OtherInfo = append(s.OtherInfo, "Queue="+q)
	}
	return s
}

func (f Facts) glueManager(c Cluster) glueManager {
	m := glueManager{glueEntity: f.entity("ComputingManager", c.Name, c.Name), ProductName: c.Kind,
		TotalSlots: number(c.Slots)}
	return m
}
