for i in 7 8 9; do printf '{"lfn":"/data/raw/%s.root"}\n' $i; done >more.jsonl
printf '{"lfn":"/data/raw/day1.root"}\n' >day1.jsonl
