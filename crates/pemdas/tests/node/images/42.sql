create table orders (id int primary key, customer text not null);
insert into orders values (1, 'ada'), (2, 'grace'), (3, 'ada');
