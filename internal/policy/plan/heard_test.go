package plan

import "testing"

func TestHeard_OneAccountAloneDoesNotProveAnOutage(t *testing.T) {
	for name, c := range map[string]struct {
		heard Heard
		ill   bool
	}{
		"nobody was asked":                           {Heard{}, false},
		"all answered":                               {Heard{Answered: 3}, false},
		"the daemon's own account is silent":         {Heard{Silent: 1, Own: true}, true},
		"though a ping is answered":                  {Heard{Silent: 1, Own: true, Pinged: true}, true},
		"the daemon's own account answers":           {Heard{Answered: 1, Own: true}, false},
		"the only account is silent":                 {Heard{Silent: 1}, true},
		"the only account is silent, a ping is not":  {Heard{Silent: 1, Pinged: true}, false},
		"one of two is silent":                       {Heard{Silent: 1, Answered: 1}, false},
		"one of many is silent":                      {Heard{Silent: 1, Answered: 20}, false},
		"two of two":                                 {Heard{Silent: 2}, true},
		"two of two, though a ping is answered":      {Heard{Silent: 2, Pinged: true}, true},
		"two of three":                               {Heard{Silent: 2, Answered: 1}, true},
		"two of four":                                {Heard{Silent: 2, Answered: 2}, false},
		"a forged answer among many that get none":   {Heard{Silent: 9, Answered: 1}, true},
		"some that hold up their commands, and many": {Heard{Silent: 3, Answered: 30}, false},
	} {
		if got := c.heard.Unhealthy(); got != c.ill {
			t.Errorf("%s: %+v: ill %v, want %v", name, c.heard, got, c.ill)
		}
	}
}
