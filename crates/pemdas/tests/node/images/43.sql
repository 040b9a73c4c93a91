alter table orders add column total int not null default 0;
